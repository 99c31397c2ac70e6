// A job of a client: why it waits, what came of it, and the receipts that prove it.
import type { PoolJob } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Page } from '../../../frame/page.tsx'
import { useLive } from '../../../live/live.ts'
import { Button } from '../../../parts/controls/button.tsx'
import { Confirm } from '../../../parts/feedback/confirm.tsx'
import { Copy, shortId } from '../../../parts/controls/copy.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { Fact, Facts } from '../../../parts/data/facts.tsx'
import { Json } from '../../../parts/data/json.tsx'
import { Skeleton } from '../../../parts/feedback/skeleton.tsx'
import { StateBadge } from '../../../parts/data/state-badge.tsx'
import { Duration, Time } from '../../../parts/data/time.tsx'
import { client, queries } from '../../../session/client.ts'
import { problemOf, untilAnswered } from '../../../session/errors.ts'
import { hasEnded, JOB_STATUS } from '../pool-words.ts'
import { poolJobRoute } from '../routes.ts'
import { Receipts } from './receipts.tsx'
import { Votes } from './votes.tsx'
import { Why } from './why.tsx'

const CRUMBS = [{ label: 'Pool jobs', to: '/console/pool/jobs' }]

export function PoolJobPage() {
  const { jobId } = poolJobRoute.useParams()
  const queryKey = ['pool', 'job', jobId]
  const job = useQuery({ queryKey, queryFn: () => client.pool.get(jobId), ...untilAnswered })
  useLive({
    topic: 'pool_jobs',
    params: { job_ids: [jobId], receipts: true },
    enabled: job.data !== undefined,
    // What is known of the job begins with its key: the reasons and the receipts too.
    onMessage: () => void queries.invalidateQueries({ queryKey }),
  })
  if (job.data !== undefined) return <Shown job={job.data} />
  return (
    <Page title={`Job ${shortId(jobId)}`} crumbs={CRUMBS}>
      {problemOf(job) !== null ? (
        <ErrorBox title="The job could not be loaded" error={problemOf(job)} onRetry={() => void job.refetch()} />
      ) : (
        <Skeleton lines={8} />
      )}
    </Page>
  )
}

function Shown({ job }: { job: PoolJob }) {
  const { job_id: jobId, status, result, error_message: problem } = job
  return (
    <Page
      title={`Job ${shortId(jobId)}`}
      crumbs={CRUMBS}
      aside={<StateBadge {...JOB_STATUS[status]} />}
      actions={!hasEnded(status) && <Cancel jobId={jobId} />}
    >
      {problem !== null && (
        <p
          className="mb-4 max-w-[100ch] rounded-md bg-bad-bg px-3 py-2 break-words whitespace-pre-wrap text-bad-fg"
          dir="auto"
        >
          {problem}
        </p>
      )}
      {!hasEnded(status) && <Why jobId={jobId} />}
      <JobFacts job={job} />
      {job.votes.length > 0 && <Votes votes={job.votes} />}
      {result !== null && (
        <div className="mt-6 grid gap-4 lg:grid-cols-2">
          {result.output !== null && <Json value={result.output} label="Output" />}
          {result.metrics_json !== null && <Json value={result.metrics_json} label="Metrics" />}
        </div>
      )}
      {hasEnded(status) && <Receipts jobId={jobId} isExpected={result !== null} />}
    </Page>
  )
}

function JobFacts({ job }: { job: PoolJob }) {
  const { started_at: startedAt, finished_at: finishedAt, result, requirements } = job
  return (
    <Facts>
      <Fact name="Job">
        <Copy text={job.job_id} label="job id" />
      </Fact>
      <Fact name="Submitted">
        <Time at={job.created_at} />
      </Fact>
      <Fact name="Priority">{job.priority}</Fact>
      <Fact name="Took">{startedAt === null ? '–' : <Duration from={startedAt} to={finishedAt} />}</Fact>
      {job.replicas > 1 && (
        <Fact name="Replicas">
          {job.quorum} of {job.replicas} must agree
        </Fact>
      )}
      {requirements.region !== null && (
        <Fact name="Region">
          <span dir="auto">{requirements.region}</span>
        </Fact>
      )}
      {result !== null && <Fact name="Worker">{result.worker_id}</Fact>}
      {result !== null && result.artifact_uri !== null && (
        <Fact name="Artifact">
          <Copy text={result.artifact_uri} label="artifact address" />
        </Fact>
      )}
      {result !== null && result.output_hash !== null && (
        <Fact name="Output hash">
          <Copy text={result.output_hash} label="output hash" />
          {result.output_hash_matches === false && ' does not match the output'}
        </Fact>
      )}
    </Facts>
  )
}

function Cancel({ jobId }: { jobId: string }) {
  const [isAsking, setAsking] = useState(false)
  return (
    <>
      <Button icon="cross" onClick={() => setAsking(true)}>
        Cancel
      </Button>
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Cancel this job?"
        action="Cancel the job"
        isDangerous
        onConfirm={async () => {
          await client.pool.cancel(jobId)
          await queries.invalidateQueries({ queryKey: ['pool', 'job', jobId] })
        }}
      >
        A worker that is at it is told, and its result is refused.
      </Confirm>
    </>
  )
}
