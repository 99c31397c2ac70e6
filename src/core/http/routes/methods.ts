// A path that exists but not with this method is told which methods it has: 405, or 204 to OPTIONS.
import type { FastifyInstance } from 'fastify'
import { pathOf } from '../errors/error-format.ts'

export interface Methods {
  /** What the path of this URL can be asked; empty for a path that nobody has. */
  of(url: string): readonly string[]
}

/** Fastify tells its routes only as they are added: call this before any is. */
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
