// The topic `pool_workers` of /live: the workers that a page of their owner or of an admin shows, whenever one of them has changed. A heartbeat
// writes no event, since it is the hot path: once a second each process asks for what its pages show, in one statement.
import { Type } from 'typebox'
import type { Database } from '../../../core/db/database.ts'
import { liveTopic, type LiveTopic, type SendLive } from '../../../core/live/topic.ts'
import type { Loop } from '../../../core/loop.ts'
import type { CanaryStock } from '../canaries/canary-stock.ts'
import { Id } from '../wire.ts'
import { listInSight, ownersView, standingOf } from '../workers/standing.ts'

const EVERY_MS = 1000
const IN_SIGHT_MAX = 200

const Params = Type.Object({ worker_ids: Type.Array(Id, { maxItems: IN_SIGHT_MAX }) }, { additionalProperties: false })

interface WatchedWorkers {
  /** Null: any owner's. */
  ownerId: number | null
  workerIds: readonly number[]
  /** What was sent of each. */
  sent: Map<number, string>
  send: SendLive
}

export interface LiveWorkersDeps {
  database: Database
  canaries: CanaryStock
  probationCanaries: number
  leaseSec: number
}

export function openLiveWorkers(deps: LiveWorkersDeps): { topic: LiveTopic; loop: Loop } {
  const sights = new Set<WatchedWorkers>()
  return {
    topic: liveTopic({
      name: 'pool_workers',
      roles: ['WORKER_OWNER', 'ADMIN'],
      params: Params,
      open: async ({ params: { worker_ids: workerIds }, account, send }) => {
        const ownerId = account.roles.includes('ADMIN') ? null : account.accountId
        const sight = { ownerId, workerIds, sent: new Map<number, string>(), send }
        sights.add(sight)
        return { ok: true, close: () => sights.delete(sight) }
      },
    }),
    loop: {
      name: 'watch-workers-for-pages',
      everyMs: EVERY_MS,
      async runOnce() {
        await sendChanged(deps, sights)
        return false
      },
    },
  }
}

async function sendChanged(deps: LiveWorkersDeps, sights: ReadonlySet<WatchedWorkers>): Promise<void> {
  const { database, canaries, probationCanaries, leaseSec } = deps
  const workerIds = [...new Set([...sights].flatMap((sight) => sight.workerIds))]
  if (workerIds.length === 0) return
  await canaries.ready()
  const rows = await listInSight(database, workerIds, leaseSec)
  const shown = new Map(
    rows.map((row) => {
      const { status, paused, last_seen_at } = row
      const view = { ...ownersView(row, standingOf(row, canaries, probationCanaries)), status, paused, last_seen_at }
      return [view.worker_id, { ownerId: Number(row.owner_id), view, text: JSON.stringify(view) }]
    }),
  )
  for (const { ownerId, workerIds: inSight, sent, send } of sights) {
    const changed = inSight.flatMap((id) => {
      const worker = shown.get(id)
      if (worker === undefined || (ownerId !== null && worker.ownerId !== ownerId)) return []
      return sent.get(id) === worker.text ? [] : [worker]
    })
    for (const { view, text } of changed) sent.set(view.worker_id, text)
    if (changed.length > 0) send('changed', { workers: changed.map(({ view }) => view) })
  }
}
