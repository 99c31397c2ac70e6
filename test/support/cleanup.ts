// What a test opened is closed in the reverse order: what stands on something else goes first.
import { AsyncResource } from 'node:async_hooks'
import { after } from 'node:test'

/** What something is opened for: a test, or FILE. */
export interface Scope {
  after(close: () => Promise<void>): void
}

// `after` belongs to the test that calls it. Bound here, outside any test, it belongs to the file.
const afterFile = AsyncResource.bind((close: () => Promise<void>) => after(close))

/** For what the tests of a file share. It is closed after the last of them. */
export const FILE: Scope = { after: afterFile }

const opened = new WeakMap<Scope, (() => unknown)[]>()

export function atEnd(scope: Scope, close: () => unknown): void {
  const known = opened.get(scope)
  if (known !== undefined) {
    known.push(close)
    return
  }
  const closes = [close]
  opened.set(scope, closes)
  scope.after(async () => {
    for (const close of closes.toReversed()) await close()
  })
}
