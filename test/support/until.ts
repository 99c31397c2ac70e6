import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

const LOOK_MS = 5
const LOOK_MS_MAX = 100
const PATIENCE_MS = Number(process.env['REEVE_TEST_PATIENCE_MS'] ?? 60_000)

/** For what nothing announces, such as the work of another process. Fails with the sentence if it never holds. */
export async function until(
  sentence: string,
  holds: () => boolean | Promise<boolean>,
  explain: () => unknown = () => '',
): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  // Looking costs what is looked at: less and less often the longer it takes.
  for (let lookMs = LOOK_MS; !(await holds()); lookMs = Math.min(1.5 * lookMs, LOOK_MS_MAX)) {
    if (performance.now() > deadline) assert.fail(`never: ${sentence} ${JSON.stringify(await explain())}`)
    await sleep(lookMs)
  }
}
