// What a test opened is closed in the reverse order: what stands on something else goes first.
import type { TestContext } from 'node:test'

const opened = new WeakMap<TestContext, (() => unknown)[]>()

export function atEnd(t: TestContext, close: () => unknown): void {
  const known = opened.get(t)
  if (known !== undefined) {
    known.push(close)
    return
  }
  const closes = [close]
  opened.set(t, closes)
  t.after(async () => {
    for (const close of closes.toReversed()) await close()
  })
}
