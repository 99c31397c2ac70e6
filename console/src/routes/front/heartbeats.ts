// Workers send a heartbeat every few seconds. A message of theirs says what a glance shows of them: nothing is loaded for it.
import type { Stated } from '../../parts/data/state-badge.tsx'
import { workerState } from '../pool/pool-words.ts'
import { recordsIn } from '../pool/workers/worker-records.ts'

interface WorkerItem {
  key: string
  state: Stated
  at: string | null
}

/** Null: the message says nothing of them, or one has another state, and others may be worth more of a glance now. */
export function withHeartbeats<Item extends WorkerItem>(items: readonly Item[], payload: unknown): Item[] | null {
  const records = new Map(recordsIn(payload).map((record) => [String(record.worker_id), record]))
  const isAsBefore = items.every(({ key, state }) => {
    const record = records.get(key)
    return record === undefined || workerState(record).word === state.word
  })
  if (records.size === 0 || !isAsBefore) return null
  return items.map((item) => ({ ...item, at: records.get(item.key)?.last_seen_at ?? item.at }))
}
