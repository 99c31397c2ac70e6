// Chooses the error format of the door that owns a path.
import type { ErrorReport } from './http-error.ts'

export interface ErrorFormat {
  /** Paths, or prefixes that end in a slash. */
  paths: readonly string[]
  errorBody(report: ErrorReport): object
  /** The status of a body or query that violates its schema. */
  validationStatus: 400 | 422
}

export const pathOf = (url: string): string => {
  const end = url.search(/[?#]/)
  return end === -1 ? url : url.slice(0, end)
}

/** The longest matching path wins; `otherwise` is the format of all other paths. */
export function formatByPath(all: readonly ErrorFormat[], otherwise: ErrorFormat): (url: string) => ErrorFormat {
  const entries = all
    .flatMap((format) => format.paths.map((path) => ({ path, format })))
    .sort((a, b) => b.path.length - a.path.length)

  return (url) => {
    const path = pathOf(url)
    const found = entries.find(
      (entry) => path === entry.path || (entry.path.endsWith('/') && path.startsWith(entry.path)),
    )
    return found?.format ?? otherwise
  }
}
