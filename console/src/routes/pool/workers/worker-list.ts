// The workers of this owner, with what the live connection says of those in sight.
import type { LivePoolWorker, PoolWorker } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLive } from '../../../live/live.ts'
import { client, queries } from '../../../session/client.ts'
import { recordsIn } from './worker-records.ts'

const QUERY_KEY = ['pool', 'workers']
const IN_SIGHT_MAX = 200

export interface ShownWorker extends PoolWorker {
  /** Null: not known yet. */
  record: LivePoolWorker | null
}

export const reloadWorkers = () => queries.invalidateQueries({ queryKey: QUERY_KEY })

/** `only`: the one that a page is about. */
export function useWorkers(only?: number) {
  const list = useQuery({ queryKey: QUERY_KEY, queryFn: () => client.pool.workers() })
  const [records, setRecords] = useState<ReadonlyMap<number, LivePoolWorker>>(new Map())
  const wanted = (list.data ?? []).filter(({ id }) => only === undefined || id === only)
  useLive({
    topic: 'pool_workers',
    params: { worker_ids: wanted.slice(0, IN_SIGHT_MAX).map(({ id }) => id) },
    enabled: wanted.length > 0,
    onMessage: ({ payload }) =>
      setRecords((known) => new Map([...known, ...recordsIn(payload).map((one) => [one.worker_id, one] as const)])),
  })
  const workers = wanted.map((worker): ShownWorker => {
    const record = records.get(worker.id) ?? null
    if (record === null) return { ...worker, record }
    const { status, last_seen_at } = record
    return { ...worker, status, last_seen_at, record }
  })
  return { list, workers }
}
