// Canaries wait in line like any job, so that one is given out in the same way and in the same time. One of each is kept
// waiting: when it is taken, the next is submitted.
import type { Database } from '../../../core/db/database.ts'
import type { Bus } from '../../../core/events/bus.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { PRIORITY_DEFAULT } from '../../../core/ledger/submit/submit.ts'
import { Wake, type Loop } from '../../../core/loop.ts'
import { newJobId } from '../../../core/random.ts'
import type { Lane, Lanes } from '../tasks/requirement-classes.ts'
import { POOL_KIND, type PoolPayload } from '../tasks/payload.ts'
import { isEligible, type Profile } from '../tasks/requirements.ts'
import { addTask } from '../tasks/task-rows.ts'

const COUNT = `select lane_id, count(*)::integer as count from pool_canaries where retired_at is null group by lane_id`

const MISSING = `
  select canary_id, lane_id, payload::text as payload from pool_canaries c
   where retired_at is null
     and not exists (select from pool_tasks t where t.canary_id = c.canary_id and t.worker_id is null)
   order by canary_id limit $1`

const CHANNEL = 'reeve:pool:canaries'
const RESTOCK_EVERY_MS = 5000
const RESTOCK_MAX = 200
const COUNTED_MS = 5000

export interface CanaryStock {
  /** Counts them again if that is due. */
  ready(): Promise<void>
  /** How many there are that such a worker could be given. */
  countFor(profile: Profile): number
  /** One was given out. */
  taken(): void
  /** Some were added or retired: to all processes. */
  changed(): void
  /** For a process that works. */
  loop: Loop
  close(): void
}

export interface CanaryStockDeps {
  database: Database
  ledger: Ledger
  bus: Bus
  lanes: Lanes
  /** Something can be given out. */
  onStocked(): void
}

export function openCanaryStock(deps: CanaryStockDeps): CanaryStock {
  const { database, bus, lanes } = deps
  const wake = new Wake()
  let counted: { lane: Lane; count: number }[] = []
  let countedAt = -Infinity
  let counting: Promise<void> | null = null

  const count = async () => {
    const rows = await database.query<{ lane_id: string; count: number }>(COUNT)
    const known = await lanes.byId(rows.map((row) => Number(row.lane_id)))
    const countOf = new Map(rows.map((row) => [Number(row.lane_id), row.count]))
    counted = known.map((lane) => ({ lane, count: countOf.get(lane.laneId) ?? 0 }))
    countedAt = performance.now()
  }
  const unsubscribe = bus.subscribe(CHANNEL, (message) => {
    if (message === 'changed') countedAt = -Infinity
    wake.ring()
  })

  return {
    async ready() {
      if (performance.now() - countedAt < COUNTED_MS) return
      counting ??= count().finally(() => (counting = null))
      await counting
    },
    countFor: (profile) => counted.reduce((sum, { lane, count }) => sum + (isEligible(lane, profile) ? count : 0), 0),
    taken: () => bus.publish(CHANNEL, 'taken'),
    changed: () => bus.publish(CHANNEL, 'changed'),
    loop: { name: 'keep canaries in stock', everyMs: RESTOCK_EVERY_MS, wake, runOnce: () => restock(deps) },
    close: unsubscribe,
  }
}

async function restock({ database, ledger, onStocked }: CanaryStockDeps): Promise<boolean> {
  type Missing = { canary_id: string; lane_id: string; payload: string }
  const missing = await database.query<Missing>(MISSING, [RESTOCK_MAX])
  await Promise.all(
    missing.map(({ canary_id: id, lane_id: laneId, payload }) =>
      submitCanary(ledger, { canaryId: Number(id), laneId: Number(laneId), payload }),
    ),
  )
  if (missing.length > 0) onStocked()
  return missing.length === RESTOCK_MAX
}

async function submitCanary(ledger: Ledger, canary: { canaryId: number; laneId: number; payload: string }) {
  const jobId = newJobId()
  const payload: PoolPayload = {
    job: canary.payload,
    lane_id: canary.laneId,
    region: null,
    specs: null,
    replicas: 1,
    quorum: 1,
    callback_url: null,
    requires_hash: false,
    timeout_seconds: 0,
    canary_id: canary.canaryId,
  }
  const task = { jobId, laneId: canary.laneId, priority: PRIORITY_DEFAULT, canaryId: canary.canaryId }
  await ledger.submit({ jobId, kind: POOL_KIND, payload, priority: PRIORITY_DEFAULT, effects: [addTask(task)] })
}
