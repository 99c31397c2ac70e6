// For clients: their jobs, newest first.
import type { PoolJobPage } from '@reeve/sdk'
import { useInfiniteQuery } from '@tanstack/react-query'
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
import { client } from '../../../session/client.ts'
import { problemOf, untilAnswered } from '../../../session/errors.ts'
import { JOB_STATUS } from '../pool-words.ts'
import { SubmitJob } from './submit-job.tsx'

const PAGE_ROWS = 100
const FIRST: string | null = null

type ListedJob = PoolJobPage['jobs'][number]

export function PoolJobsPage() {
  const [isSubmitting, setSubmitting] = useState(false)
  const navigate = useNavigate()
  const list = useInfiniteQuery({
    queryKey: ['pool', 'jobs'],
    queryFn: ({ pageParam }) =>
      client.pool.list({ limit: PAGE_ROWS, ...(pageParam === null ? {} : { before: pageParam }) }),
    ...untilAnswered,
    initialPageParam: FIRST,
    getNextPageParam: ({ next_before: next }) => next,
  })
  const reload = useReloadNewest({
    queryKey: ['pool', 'jobs'],
    load: () => client.pool.list({ limit: PAGE_ROWS }),
    rowsOf: (page) => page.jobs,
    withRows: (page, jobs) => ({ ...page, jobs }),
    keyOf: ({ job_id: jobId }) => jobId,
  })
  const problem = problemOf(list)
  const jobs = list.data?.pages.flatMap((page) => page.jobs) ?? []
  useLive({
    topic: 'pool_jobs',
    params: { job_ids: jobs.slice(0, PAGE_ROWS).map(({ job_id: jobId }) => jobId), new: true },
    enabled: list.isSuccess && !list.isFetching,
    onMessage: reload, // also when it is followed again: what came meanwhile is not told
  })
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
