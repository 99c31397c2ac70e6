import type { JobDetail } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { useNow } from '../../clock/clock.ts'
import { Page } from '../../frame/page.tsx'
import { useLive } from '../../live/live.ts'
import { Button } from '../../parts/controls/button.tsx'
import { Confirm } from '../../parts/feedback/confirm.tsx'
import { Copy, shortId } from '../../parts/controls/copy.tsx'
import { ErrorBox } from '../../parts/feedback/error-box.tsx'
import { Fact, Facts } from '../../parts/data/facts.tsx'
import { Json } from '../../parts/data/json.tsx'
import { notify } from '../../parts/feedback/notify.ts'
import { Skeleton } from '../../parts/feedback/skeleton.tsx'
import { jobState, StateBadge } from '../../parts/data/state-badge.tsx'
import { Time } from '../../parts/data/time.tsx'
import { Timeline } from '../../parts/data/timeline.tsx'
import { client, queries } from '../../session/client.ts'
import { JobReceipts, Surroundings, useJobContext, type JobContextQuery } from './context.tsx'
import { entriesOf } from './history.tsx'
import { jobRoute } from './routes.ts'

const CRUMBS = [{ label: 'Jobs', to: '/console/jobs' }]

export function JobPage() {
  const { jobId } = jobRoute.useParams()
  const queryKey = ['jobs', 'job', jobId]
  const job = useQuery({ queryKey, queryFn: () => client.jobs.get(jobId) })
  useLive({
    topic: 'job_states',
    params: { job_ids: [jobId] },
    enabled: job.data !== undefined,
    onMessage: ({ type }) => {
      if (type === 'changed') void queries.invalidateQueries({ queryKey })
    },
  })
  const context = useJobContext(jobId)
  if (job.data !== undefined) return <Shown job={job.data} context={context} />
  return (
    <Page title={shortId(jobId)} crumbs={CRUMBS}>
      {job.isError ? (
        <ErrorBox title="The job could not be loaded" error={job.error} onRetry={() => void job.refetch()} />
      ) : (
        <Skeleton lines={8} />
      )}
    </Page>
  )
}

function Shown({ job, context }: { job: JobDetail; context: JobContextQuery }) {
  const now = useNow()
  return (
    <Page title={job.kind} crumbs={CRUMBS} aside={<StateBadge {...jobState(job)} />} actions={<Actions job={job} />}>
      {job.reason !== null && (
        <p className="mb-4 max-w-[100ch] rounded-md bg-bad-bg px-3 py-2 text-bad-fg" dir="auto">
          {job.reason}
        </p>
      )}
      <JobFacts job={job} />
      <Surroundings context={context} />
      <h2 className="mt-6 mb-2 text-lead font-semibold">What happened</h2>
      <Timeline label="History" entries={entriesOf(job)} now={now} />
      <div className="mt-6 grid gap-4 lg:grid-cols-2">
        <Json value={job.payload} label="Payload" />
        {job.state === 'done' && <Json value={job.result} label="Result" />}
      </div>
      <JobReceipts context={context} />
    </Page>
  )
}

function JobFacts({ job }: { job: JobDetail }) {
  const { lease_owner: owner, due_at: dueAt, account_id: account, trace_id: trace, replay_of: replayOf } = job
  return (
    <Facts>
      <Fact name="Job">
        <Copy text={job.job_id} label="job id" />
      </Fact>
      <Fact name="Submitted">
        <Time at={job.submitted_at} />
      </Fact>
      <Fact name="Attempts">
        {job.max_attempts === null ? job.attempt_id : `${job.attempt_id} of ${job.max_attempts}`}
      </Fact>
      <Fact name="Priority">{job.priority}</Fact>
      {owner !== null && <Fact name="Held by">{owner}</Fact>}
      {dueAt !== null && (
        <Fact name={job.attempt_id > 0 ? 'Next attempt' : 'Starts'}>
          <Time at={dueAt} />
        </Fact>
      )}
      {account !== null && (
        <Fact name="Account">
          <Link to="/console/jobs" search={{ q: `account:${account}` }} className={LINK}>
            {account}
          </Link>
        </Fact>
      )}
      {trace !== null && (
        <Fact name="Trace">
          <Link to="/console/jobs" search={{ q: `trace:${trace}` }} className={`font-mono text-[13px] ${LINK}`}>
            {shortId(trace)}
          </Link>
        </Fact>
      )}
      {replayOf !== null && (
        <Fact name="Replay of">
          <Link to="/console/jobs/$jobId" params={{ jobId: replayOf }} className={`font-mono text-[13px] ${LINK}`}>
            {shortId(replayOf)}
          </Link>
        </Fact>
      )}
    </Facts>
  )
}

const LINK = 'text-accent hover:underline'

function Actions({ job }: { job: JobDetail }) {
  const [isAsking, setAsking] = useState(false)
  const navigate = useNavigate()
  const replay = async () => {
    try {
      const { job_id: jobId } = await client.jobs.replay(job.job_id)
      notify({ title: 'Submitted again', detail: 'This is the new job.' })
      await navigate({ to: '/console/jobs/$jobId', params: { jobId } })
    } catch (error) {
      notify({
        title: 'The job could not be replayed',
        detail: error instanceof Error ? error.message : '',
        tone: 'bad',
      })
    }
  }
  return (
    <>
      {job.state === 'dead' && (
        <Button look="main" icon="replay" onClick={() => void replay()}>
          Replay
        </Button>
      )}
      {(job.state === 'pending' || job.state === 'processing') && (
        <Button icon="cross" onClick={() => setAsking(true)}>
          Cancel
        </Button>
      )}
      <CopyAsCurl job={job} />
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Cancel this job?"
        action="Cancel the job"
        isDangerous
        onConfirm={async () => {
          await client.jobs.cancel(job.job_id)
          await queries.invalidateQueries({ queryKey: ['jobs', 'job', job.job_id] })
        }}
      >
        It ends as dead. {job.state === 'processing' && 'What runs is stopped, and its result is refused.'}
      </Confirm>
    </>
  )
}

function CopyAsCurl({ job: { kind, payload, priority } }: { job: JobDetail }) {
  const body = JSON.stringify({ kind, payload, priority }).replaceAll("'", String.raw`'\''`)
  const command = `curl -s ${location.origin}/admin/jobs -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '${body}'`
  return (
    <Button
      icon="copy"
      onClick={() =>
        void navigator.clipboard
          .writeText(command)
          .then(() => notify({ title: 'Copied', detail: 'Put a token into TOKEN.' }))
      }
    >
      Copy as curl
    </Button>
  )
}
