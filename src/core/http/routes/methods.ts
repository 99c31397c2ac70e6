// The methods of a path, for 405 answers and for OPTIONS.
import type { FastifyInstance } from 'fastify'
import { pathOf } from '../errors/error-format.ts'

export interface Methods {
  /** The methods of the path of this URL. Empty: unknown path. */
  of(url: string): readonly string[]
}

/** Must be called before the first route is registered. */
export function collectMethods(app: FastifyInstance): Methods {
  const routes = new Map<string, { pattern: RegExp; methods: Set<string> }>()

  app.addHook('onRoute', ({ url, method }) => {
    const known = routes.get(url) ?? { pattern: patternOf(url), methods: new Set<string>() }
    for (const name of [method].flat()) known.methods.add(name)
    routes.set(url, known)
  })

  return {
    of(url) {
      const path = pathOf(url)
      const fitting = [...routes.values()].filter(({ pattern }) => pattern.test(path))
      return [...new Set(fitting.flatMap(({ methods }) => [...methods]))].sort()
    },
  }
}

/** `:name` is one part of a path, `*` all the rest. */
function patternOf(url: string): RegExp {
  const source = url
    .replaceAll(/[.+?^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll(/:[A-Za-z_]\w*/g, '[^/]+')
    .replaceAll('*', '.*')
  return new RegExp(`^${source}$`)
}
