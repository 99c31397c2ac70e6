import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

const LOOK_MS = 20
const PATIENCE_MS = Number(process.env['REEVE_TEST_PATIENCE_MS'] ?? 60_000)

/** For what nothing announces, such as the work of another process. Fails with the sentence if it never holds. */
export async function until(
  sentence: string,
  holds: () => boolean | Promise<boolean>,
  explain: () => unknown = () => '',
): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS
  while (!(await holds())) {
    if (performance.now() > deadline) assert.fail(`never: ${sentence} ${JSON.stringify(await explain())}`)
    await sleep(LOOK_MS)
  }
}
