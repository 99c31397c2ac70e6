// For clients: their jobs, newest first.
import type { PoolJobPage } from '@reeve/sdk'
import { useInfiniteQuery, type InfiniteData } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { Page } from '../../../frame/page.tsx'
import { useLive } from '../../../live/live.ts'
import { useReloadNewest } from '../../../live/newest.ts'
import { Button } from '../../../parts/controls/button.tsx'
import { shortId } from '../../../parts/controls/copy.tsx'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { StateBadge } from '../../../parts/data/state-badge.tsx'
import { Table, type Column } from '../../../parts/data/table.tsx'
import { Time } from '../../../parts/data/time.tsx'
import { client, queries } from '../../../session/client.ts'
import { isRefused, problemOf, untilAnswered } from '../../../session/errors.ts'
import { hasEnded, JOB_STATUS } from '../pool-words.ts'
import { openChangedJobs } from './changed-jobs.ts'
import { SubmitJob } from './submit-job.tsx'

const PAGE_ROWS = 100
const FIRST: string | null = null

type ListedJob = PoolJobPage['jobs'][number]

const QUERY_KEY = ['pool', 'jobs']

export function PoolJobsPage() {
  const [isSubmitting, setSubmitting] = useState(false)
  const navigate = useNavigate()
  const { list, jobs } = usePoolJobs()
  const problem = problemOf(list)
  const submit = (
    <Button look="main" icon="plus" onClick={() => setSubmitting(true)}>
      Submit a job
    </Button>
  )
  return (
    <Page title="Pool jobs" actions={jobs.length > 0 && submit} fills>
      {problem !== null && (
        <ErrorBox title="Your jobs could not be loaded" error={problem} onRetry={() => void list.refetch()} />
      )}
      <Table<ListedJob>
        label="Pool jobs"
        className="flex-1"
        rows={jobs}
        columns={COLUMNS}
        rowKey={({ job_id: jobId }) => jobId}
        isLoading={list.isPending || list.isFetchingNextPage}
        hasMore={list.hasNextPage}
        onEnd={() => void (list.isFetching ? undefined : list.fetchNextPage())}
        place="pool jobs"
        onOpen={({ job_id: jobId }) => void navigate({ to: '/console/pool/jobs/$jobId', params: { jobId } })}
        empty={
          problem === null && (
            <Empty title="No jobs yet" action={submit}>
              What you submit goes to a worker of somebody else. Its result comes back signed, with a receipt.
            </Empty>
          )
        }
      />
      <SubmitJob isOpen={isSubmitting} onClose={() => setSubmitting(false)} />
    </Page>
  )
}

function usePoolJobs() {
  const list = useInfiniteQuery({
    queryKey: QUERY_KEY,
    queryFn: ({ pageParam }) =>
      client.pool.list({ limit: PAGE_ROWS, ...(pageParam === null ? {} : { before: pageParam }) }),
    ...untilAnswered,
    initialPageParam: FIRST,
    getNextPageParam: ({ next_before: next }) => next,
  })
  const [changed] = useState(() => openChangedJobs(readJob))
  const reload = useReloadNewest({
    queryKey: QUERY_KEY,
    load: () => client.pool.list({ limit: PAGE_ROWS }),
    loadOthers: (newest) => changed.readBeyond(newest, openJobs()),
    rowsOf: (page) => page.jobs,
    withRows: (page, jobs) => ({ ...page, jobs }),
    keyOf: ({ job_id: jobId }) => jobId,
  })
  const jobs = list.data?.pages.flatMap((page) => page.jobs) ?? []
  useLive({
    topic: 'pool_jobs',
    params: { job_ids: jobs.slice(0, PAGE_ROWS).map(({ job_id: jobId }) => jobId), new: true },
    enabled: list.isSuccess && !list.isFetching,
    onMessage: ({ payload }) => {
      changed.note(payload)
      reload() // also when it is followed again: what came meanwhile is not told
    },
  })
  return { list, jobs }
}

/** Those that are loaded and have not ended. */
function openJobs(): string[] {
  const { pages = [] } = queries.getQueryData<InfiniteData<PoolJobPage>>(QUERY_KEY) ?? {}
  const jobs = pages.flatMap((page) => page.jobs)
  return jobs.filter(({ status }) => !hasEnded(status)).map(({ job_id: jobId }) => jobId)
}

async function readJob(jobId: string): Promise<ListedJob | null> {
  const query = { queryKey: [...QUERY_KEY, jobId], queryFn: () => client.pool.get(jobId), staleTime: 0, gcTime: 0 }
  try {
    const { job_id, status, priority, created_at } = await queries.fetchQuery({ ...query, ...untilAnswered })
    return { job_id, status, priority, created_at }
  } catch (error) {
    if (isRefused(error)) return null
    throw error
  }
}

const COLUMNS: readonly Column<ListedJob>[] = [
  {
    head: 'Job',
    width: 'minmax(96px, 1fr)',
    cell: ({ job_id: jobId }) => (
      <Link
        to="/console/pool/jobs/$jobId"
        params={{ jobId }}
        tabIndex={-1}
        className="font-mono text-[13px] hover:underline"
        title={jobId}
      >
        {shortId(jobId)}
      </Link>
    ),
  },
  { head: 'State', width: '128px', cell: ({ status }) => <StateBadge {...JOB_STATUS[status]} /> },
  { head: 'Priority', width: '96px', align: 'right', wideOnly: true, cell: ({ priority }) => priority },
  { head: 'Submitted', width: '112px', align: 'right', cell: ({ created_at: at }) => <Time at={at} inList /> },
]
