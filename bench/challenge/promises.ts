// What docs/performance.md promises of the challenge door, on 2 quiet cores. `--check` fails where a figure is worse.
import { above, below } from '../promised.ts'
import { spreadOf } from '../statistics.ts'
import type { Results } from './report.ts'

const OF_ONE_INSERT = 1.2
const STEADY_P99_MS = 10
const END_TO_END_PER_SEC = 1_500

/** A sentence for each promise that this run did not keep. Promises about what was not measured are left out. */
export function brokenPromises({ accept, steady, endToEnd }: Results): string[] {
  const [door, insert] = [accept.get('door'), accept.get('insert')]
  const rateOf = (samples: readonly { perSecond: number }[]) => spreadOf(samples.map((one) => one.perSecond)).median
  const steadyDoor = steady.get('door')
  return [
    ...(door === undefined || insert === undefined
      ? []
      : below('accepted, to one INSERT', rateOf(door) / rateOf(insert), OF_ONE_INSERT)),
    ...(steadyDoor === undefined
      ? []
      : above('p99 at a steady rate, ms', spreadOf(steadyDoor.map((one) => one.p99)).median, STEADY_P99_MS)),
    ...(endToEnd.length === 0 ? [] : below('end to end, per second', spreadOf(endToEnd).median, END_TO_END_PER_SEC)),
  ]
}
