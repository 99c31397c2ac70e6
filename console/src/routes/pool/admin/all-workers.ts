// The workers of all owners, page by page, with what the live connection says of those in sight.
import type { LivePoolWorker, PoolStanding } from '@reeve/sdk'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLive } from '../../../live/live.ts'
import { client } from '../../../session/client.ts'
import { recordsIn } from '../workers/worker-records.ts'

const PAGE_ROWS = 200
const IN_SIGHT_MAX = 200

export interface WorkerFilter {
  banned: boolean
  offline: boolean
}

export function useAllWorkers({ banned, offline }: WorkerFilter) {
  const list = useInfiniteQuery({
    queryKey: ['pool', 'all workers', banned],
    queryFn: ({ pageParam }) =>
      client.poolAdmin.workers({ after: pageParam, limit: PAGE_ROWS, ...(banned ? { banned } : {}) }),
    initialPageParam: 0,
    getNextPageParam: (page: readonly PoolStanding[]): number | null =>
      page.length < PAGE_ROWS ? null : (page.at(-1)?.worker_id ?? null),
    refetchOnMount: 'always',
  })
  const loaded = list.data?.pages.flat() ?? []
  const records = useRecords(loaded.map(({ worker_id: id }) => id))
  const workers = loaded
    .map((worker) => withRecord(worker, records.get(worker.worker_id)))
    .filter(({ status }) => !offline || status === 'offline')
  return { list, workers }
}

/** What is live of these workers: of the first of them, where there are many. */
export function useRecords(workerIds: readonly number[]): ReadonlyMap<number, LivePoolWorker> {
  const [records, setRecords] = useState<ReadonlyMap<number, LivePoolWorker>>(new Map())
  useLive({
    topic: 'pool_workers',
    params: { worker_ids: workerIds.slice(0, IN_SIGHT_MAX) },
    enabled: workerIds.length > 0,
    onMessage: ({ payload }) =>
      setRecords((known) => new Map([...known, ...recordsIn(payload).map((one) => [one.worker_id, one] as const)])),
  })
  return records
}

/** The score stays the admin's, which is exact. */
export function withRecord<W extends PoolStanding>(worker: W, record: LivePoolWorker | undefined): W {
  if (record === undefined || worker.status === 'removed') return worker
  const { status, paused, last_seen_at, standing, completed, failed, lost, banned_at, ban_reason } = record
  return { ...worker, status, paused, last_seen_at, standing, completed, failed, lost, banned_at, ban_reason }
}
