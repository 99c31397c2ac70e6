// What docs/performance.md promises of the pool, on 2 quiet cores. `--check` fails where a figure is worse.
import type { Results } from './suite.ts'

const CYCLES_PER_SEC: Readonly<Record<string, number>> = {
  '1/1': 100,
  '8/1': 260,
  '64/1': 600,
  '256/1': 700,
  '96/3': 75,
}
const SERVER_MS = 1.6
const POSTGRES_MS = 0.65
const PER_CYCLE_AT = 64 // workers: few share batches below, and above the queue grows
const LOAD_PERCENT = 33
const DISPATCH_MS = { p50: 11, p99: 24 }
const WAITING_MB = 1024

/** One line for each figure that is worse than promised. */
export function missed({ cycles, dispatch, idle }: Results): string[] {
  const lines: string[] = []
  const atMost = (what: string, is: number, most: number) => {
    if (is > most) lines.push(`${what}: ${is.toFixed(2)}, at most ${most} is promised`)
  }
  for (const { workers, replicas, perSec, serverMs, postgresMs, loadPercent } of cycles) {
    const what = `${workers} workers, replicas ${replicas}`
    const least = CYCLES_PER_SEC[`${workers}/${replicas}`] ?? 0
    if (perSec < least) lines.push(`${what}: ${perSec.toFixed(0)} cycles/s, at least ${least} are promised`)
    atMost(`${what}, the load's share of a core, %`, loadPercent, LOAD_PERCENT)
    if (workers !== PER_CYCLE_AT || replicas !== 1) continue
    atMost(`${what}, server ms per cycle`, serverMs, SERVER_MS)
    atMost(`${what}, PostgreSQL ms per cycle`, postgresMs, POSTGRES_MS)
  }
  if (dispatch !== null) {
    atMost('dispatch p50, ms', dispatch.p50, DISPATCH_MS.p50)
    atMost('dispatch p99, ms', dispatch.p99, DISPATCH_MS.p99)
  }
  const all = idle?.steps.at(-1)
  if (all !== undefined) atMost(`${all.workers} workers wait, MB`, all.rssMb, WAITING_MB)
  return lines
}
