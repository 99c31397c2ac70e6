// Whose words an error is put into: those of the door that owns the path.
import type { ErrorReport } from './http-error.ts'

export interface ErrorFormat {
  /** Paths, or beginnings of paths that end in a slash. */
  paths: readonly string[]
  errorBody(problem: ErrorReport): object
  /** The status of a body or query that breaks its schema. */
  validationStatus: 400 | 422
}

export const pathOf = (url: string): string => {
  const end = url.search(/[?#]/)
  return end === -1 ? url : url.slice(0, end)
}

/** The longest path that fits wins; `otherwise` speaks for all the rest. */
export function formatByPath(all: readonly ErrorFormat[], otherwise: ErrorFormat): (url: string) => ErrorFormat {
  const entries = all
    .flatMap((words) => words.paths.map((path) => ({ path, words })))
    .sort((a, b) => b.path.length - a.path.length)

  return (url) => {
    const path = pathOf(url)
    const found = entries.find(
      (entry) => path === entry.path || (entry.path.endsWith('/') && path.startsWith(entry.path)),
    )
    return found?.words ?? otherwise
  }
}
