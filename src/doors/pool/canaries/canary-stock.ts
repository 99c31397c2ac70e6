// Canaries wait among the tasks like any job, so that assigning one looks and takes the same. One task of each canary is kept
// waiting: when it is assigned, the next one is submitted.
import type { Database } from '../../../core/db/database.ts'
import type { Bus } from '../../../core/events/bus.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { PRIORITY_DEFAULT } from '../../../core/ledger/submit/submit.ts'
import { Wake, type Loop } from '../../../core/loop.ts'
import { newJobId } from '../../../core/random.ts'
import type { RequirementClass, RequirementClasses } from '../tasks/requirement-classes.ts'
import { POOL_KIND, type CanaryPayload } from '../tasks/payload.ts'
import { isEligible, type WorkerProfile } from '../tasks/requirements.ts'
import { addTask } from '../tasks/task-rows.ts'

const COUNT = `select class_id, count(*)::integer as count from pool_canaries where retired_at is null group by class_id`

const MISSING = `
  select canary_id, class_id from pool_canaries c
   where retired_at is null
     and not exists (select from pool_tasks t where t.canary_id = c.canary_id and t.worker_id is null)
   order by canary_id limit $1`

const CHANNEL = 'reeve:pool:canaries'
const RESTOCK_EVERY_MS = 5000
const RESTOCK_MAX = 200
const COUNTED_MS = 5000

export interface CanaryStock {
  /** Counts the canaries again if the last count is too old. */
  ready(): Promise<void>
  /** How many canaries a worker with this profile is eligible for. */
  countFor(profile: WorkerProfile): number
  /** One was assigned. */
  taken(): void
  /** Tells all processes that some were added or retired. */
  changed(): void
  /** For processes that work. */
  loop: Loop
  close(): void
}

export interface CanaryStockDeps {
  database: Database
  ledger: Ledger
  bus: Bus
  classes: RequirementClasses
  /** A canary waits for a worker. */
  onStocked(): void
}

export function openCanaryStock(deps: CanaryStockDeps): CanaryStock {
  const { database, bus, classes } = deps
  const wake = new Wake()
  let counted: { of: RequirementClass; count: number }[] = []
  let countedAt = -Infinity
  let counting: Promise<void> | null = null

  const count = async () => {
    const rows = await database.query<{ class_id: string; count: number }>(COUNT)
    const known = await classes.byId(rows.map((row) => Number(row.class_id)))
    const countOf = new Map(rows.map((row) => [Number(row.class_id), row.count]))
    counted = known.map((one) => ({ of: one, count: countOf.get(one.classId) ?? 0 }))
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
    countFor: (profile) => counted.reduce((sum, { of, count }) => sum + (isEligible(of, profile) ? count : 0), 0),
    taken: () => bus.publish(CHANNEL, 'taken'),
    changed: () => bus.publish(CHANNEL, 'changed'),
    loop: { name: 'submit-missing-canaries', everyMs: RESTOCK_EVERY_MS, wake, runOnce: () => restock(deps) },
    close: unsubscribe,
  }
}

async function restock({ database, ledger, onStocked }: CanaryStockDeps): Promise<boolean> {
  type Missing = { canary_id: string; class_id: string }
  const missing = await database.query<Missing>(MISSING, [RESTOCK_MAX])
  await Promise.all(
    missing.map(({ canary_id: id, class_id: classId }) =>
      submitCanary(ledger, { canaryId: Number(id), classId: Number(classId) }),
    ),
  )
  if (missing.length > 0) onStocked()
  return missing.length === RESTOCK_MAX
}

async function submitCanary(ledger: Ledger, { canaryId, classId }: { canaryId: number; classId: number }) {
  const jobId = newJobId()
  const priority = PRIORITY_DEFAULT
  const payload: CanaryPayload = { canary_id: canaryId }
  await ledger.submit({
    jobId,
    kind: POOL_KIND,
    payload,
    priority,
    effects: [addTask({ jobId, classId, priority, canaryId })],
  })
}
