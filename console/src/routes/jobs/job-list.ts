// The jobs of a filter: pages as one scrolls, new ones as they come, changes of those in sight.
import type { Job, JobFilter, JobPage, LiveMessage } from '@reeve/sdk'
import { useInfiniteQuery, type InfiniteData } from '@tanstack/react-query'
import { useMemo, useState } from 'react'
import { useLive } from '../../live/live.ts'
import { client, queries } from '../../session/client.ts'
import { problemOf, untilAnswered } from '../../session/errors.ts'

const PAGE = 100
const IN_SIGHT_MAX = 200
const MARGIN_MS = 60_000 // between this clock and the server's

export interface JobList {
  jobs: readonly Job[]
  isLoading: boolean
  error: unknown
  hasMore: boolean
  loadMore: () => void
  reload: () => void
  /** Came while one looked elsewhere: not in the list yet. Null: too many to know. */
  newCount: number | null
  showNew: () => void
}

type Pages = InfiniteData<JobPage, string | null>

export function useJobList(filter: JobFilter, isAtTop: boolean): JobList {
  const queryKey = ['jobs', 'list', filter]
  const [held, setHeld] = useState<{ key: string; jobs: readonly Job[]; isMore: boolean }>(NOTHING)
  const list = useInfiniteQuery({
    queryKey,
    queryFn: ({ pageParam }) =>
      client.jobs.list({ ...filter, limit: PAGE, ...(pageParam === null ? {} : { before: pageParam }) }),
    initialPageParam: FIRST,
    getNextPageParam: (page) => page.next_before,
    ...untilAnswered,
  })
  const jobs = useMemo(() => list.data?.pages.flatMap((page) => page.jobs) ?? [], [list.data])
  const key = JSON.stringify(filter)
  const waiting = held.key === key ? held : NOTHING

  const add = (more: readonly Job[]) => queries.setQueryData<Pages>(queryKey, (pages) => withNew(pages, more))
  const onMessage = ({ type, payload }: LiveMessage) => {
    if (type === 'reset') setHeld({ key, jobs: [], isMore: true })
    if (type !== 'new') return
    const more = jobsOf(payload)
    if (isAtTop) add(more)
    else {
      const known = new Set(waiting.jobs.map(({ job_id: jobId }) => jobId))
      const fresh = more.filter(({ job_id: jobId }) => !known.has(jobId))
      setHeld({ key, jobs: [...fresh, ...waiting.jobs], isMore: waiting.isMore })
    }
  }
  const newest = list.data?.pages[0]?.jobs[0]?.job_id
  useLive({
    topic: 'jobs',
    params: { filter },
    paramsOnFollow: () => ({ filter, newest: newest ?? idAt(list.dataUpdatedAt - MARGIN_MS) }),
    enabled: list.isSuccess && !list.isFetching,
    onMessage,
  })
  useLive({
    topic: 'job_states',
    params: { job_ids: jobs.slice(0, IN_SIGHT_MAX).map(({ job_id: jobId }) => jobId) },
    enabled: jobs.length > 0 && !list.isFetching,
    onMessage: ({ payload }) => queries.setQueryData<Pages>(queryKey, (pages) => withChanged(pages, jobsOf(payload))),
  })

  return {
    jobs,
    isLoading: list.isPending || list.isFetchingNextPage,
    error: problemOf(list),
    hasMore: list.hasNextPage,
    loadMore: () => void (list.isFetching ? undefined : list.fetchNextPage()),
    reload: () => void list.refetch(),
    newCount: waiting.isMore ? null : waiting.jobs.length,
    showNew() {
      if (waiting.isMore) void queries.resetQueries({ queryKey })
      else add(waiting.jobs)
      setHeld(NOTHING)
    },
  }
}

const FIRST: string | null = null

/** Jobs begin with their time: the first id of a moment. */
function idAt(ms: number): string {
  const hex = Math.max(0, ms).toString(16).padStart(12, '0')
  return `${hex.slice(0, 8)}-${hex.slice(8)}-0000-0000-000000000000`
}

const NOTHING = { key: '', jobs: [], isMore: false }

const jobsOf = (payload: unknown): Job[] =>
  typeof payload === 'object' && payload !== null && 'jobs' in payload && Array.isArray(payload.jobs)
    ? payload.jobs
    : []

function withNew(pages: Pages | undefined, more: readonly Job[]): Pages | undefined {
  const [first, ...others] = pages?.pages ?? []
  if (pages === undefined || first === undefined) return pages
  const known = new Set(first.jobs.map(({ job_id: jobId }) => jobId))
  const fresh = more.filter(({ job_id: jobId }) => !known.has(jobId))
  if (fresh.length === 0) return pages
  return { ...pages, pages: [{ ...first, jobs: [...fresh, ...first.jobs] }, ...others] }
}

function withChanged(pages: Pages | undefined, changed: readonly Job[]): Pages | undefined {
  if (pages === undefined) return pages
  const byId = new Map(changed.map((job) => [job.job_id, job]))
  return {
    ...pages,
    pages: pages.pages.map((page) => ({ ...page, jobs: page.jobs.map((job) => byId.get(job.job_id) ?? job) })),
  }
}
