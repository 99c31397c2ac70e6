// What belongs to a job beside its own row: how far it is, what it waits for and what waits for it, what it sent, its receipts.
import type { JobContext, RelatedJob } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { plural } from '../../clock/format.ts'
import { useLive } from '../../live/live.ts'
import { shortId } from '../../parts/controls/copy.tsx'
import { ProgressBar } from '../../parts/data/progress.tsx'
import { JOB_STATES, StateBadge, type Stated } from '../../parts/data/state-badge.tsx'
import { ErrorBox } from '../../parts/feedback/error-box.tsx'
import { client, queries } from '../../session/client.ts'
import { problemOf, untilAnswered } from '../../session/errors.ts'
import { deliveryState, topicWord } from '../challenges/deliveries/words.ts'
import { ReceiptList } from '../pool/jobs/receipts.tsx'

export function useJobContext(jobId: string) {
  const queryKey = ['jobs', 'context', jobId]
  const context = useQuery({
    queryKey,
    queryFn: () => client.jobs.context(jobId),
    refetchOnMount: 'always',
    ...untilAnswered,
  })
  useLive({
    topic: 'job_context',
    params: { job_id: jobId },
    enabled: context.isSuccess && !context.isFetching,
    onMessage: ({ type, payload }) => type === 'changed' && queries.setQueryData(queryKey, payload),
  })
  return context
}

export type JobContextQuery = ReturnType<typeof useJobContext>

const UNITS: Readonly<Record<string, string>> = {
  tests: 'tests judged',
  results: 'results of its replicas',
  ticks: 'ticks played',
}

/** What is worth a look before the history. */
export function Surroundings({ context }: { context: JobContextQuery }) {
  const problem = problemOf(context)
  if (problem !== null)
    return (
      <ErrorBox
        title="What belongs to the job could not be loaded"
        error={problem}
        onRetry={() => void context.refetch()}
      />
    )
  if (context.data === undefined) return null
  const { progress, waits_for: waitsFor, dependents, replayed_as: replay, deliveries } = context.data
  return (
    <>
      {progress !== null && (
        <Part title="Progress">
          <ProgressBar label="Progress" {...progress} unit={UNITS[progress.unit] ?? progress.unit} />
        </Part>
      )}
      <Jobs title="Waits for" jobs={waitsFor} />
      <Jobs title="Dependents" jobs={dependents} />
      <Jobs title="Replayed as" jobs={replay === null ? [] : [replay]} />
      <Deliveries deliveries={deliveries} />
    </>
  )
}

export function JobReceipts({ context }: { context: JobContextQuery }) {
  const receipts = context.data?.receipts ?? []
  return receipts.length === 0 ? null : <ReceiptList receipts={receipts} />
}

const Part = ({ title, children }: { title: string; children: ReactNode }) => (
  <section aria-label={title} className="mt-6 max-w-3xl">
    <h2 className="mb-2 text-lead font-semibold">{title}</h2>
    {children}
  </section>
)

function Jobs({ title, jobs }: { title: string; jobs: readonly RelatedJob[] }) {
  if (jobs.length === 0) return null
  return (
    <Part title={title}>
      <ul>
        {jobs.map(({ job_id: jobId, kind, state }) => (
          <Line key={jobId} state={JOB_STATES[state]}>
            <Link
              to="/console/jobs/$jobId"
              params={{ jobId }}
              className="min-w-0 truncate hover:underline"
              title={jobId}
            >
              <bdi className="font-medium">{kind}</bdi>{' '}
              <span className="font-mono text-[13px] text-quiet">{shortId(jobId)}</span>
            </Link>
          </Line>
        ))}
      </ul>
    </Part>
  )
}

function Deliveries({ deliveries }: Pick<JobContext, 'deliveries'>) {
  if (deliveries.length === 0) return null
  return (
    <Part title="Sent">
      <ul>
        {deliveries.map((delivery) => (
          <Line key={delivery.delivery_id} state={deliveryState(delivery)}>
            <Link
              to="/console/challenges/deliveries/$deliveryId"
              params={{ deliveryId: String(delivery.delivery_id) }}
              className="min-w-0 truncate font-medium hover:underline"
            >
              {topicWord(delivery.topic)}
            </Link>
            <span className="text-quiet">{plural(delivery.attempts, 'attempt')}</span>
          </Line>
        ))}
      </ul>
    </Part>
  )
}

const Line = ({ state, children }: { state: Stated; children: ReactNode }) => (
  <li className="flex flex-wrap items-center gap-x-4 gap-y-1 border-t border-line py-1.5">
    <span className="w-24 shrink-0">
      <StateBadge {...state} />
    </span>
    {children}
  </li>
)
