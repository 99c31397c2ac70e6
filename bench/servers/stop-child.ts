import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'

/** Asks it to end, and makes it end if it has not within `withinMs`. Idempotent. */
export async function stopChild(
  child: ChildProcess,
  withinMs: number,
  ask: () => void = () => child.kill('SIGTERM'),
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  ask()
  const late = setTimeout(() => child.kill('SIGKILL'), withinMs)
  await ended
  clearTimeout(late)
}
