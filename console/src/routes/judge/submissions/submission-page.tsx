// One submission: its verdict, its tests, its program, and how the program differs from another one.
import type { Submission } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { exact } from '../../../clock/format.ts'
import { Page } from '../../../frame/page.tsx'
import { Button } from '../../../parts/controls/button.tsx'
import { Confirm } from '../../../parts/feedback/confirm.tsx'
import { Copy, shortId } from '../../../parts/controls/copy.tsx'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { inputClass } from '../../../parts/controls/form.tsx'
import { Skeleton } from '../../../parts/feedback/skeleton.tsx'
import { Time } from '../../../parts/data/time.tsx'
import { client, queries } from '../../../session/client.ts'
import { isStatus } from '../../../session/errors.ts'
import { useSession } from '../../../session/session.tsx'
import { submissionRoute } from '../routes.ts'
import { Block, Difference } from './sample-difference.tsx'
import { Tests } from './tests.tsx'
import { useSubmission, type Progress } from './use-submission.ts'
import { Verdict } from './verdict-panel.tsx'
import { languageName, stateOf } from './verdicts.ts'

const CRUMBS = [
  { label: 'Judge', to: '/console/judge' },
  { label: 'Submissions', to: '/console/judge/submissions' },
]

export function SubmissionPage() {
  const { job } = submissionRoute.useParams()
  const { found, progress } = useSubmission(job)
  if (found.data !== undefined) return <Shown submission={found.data} progress={progress} />
  return (
    <Page title="Submission" crumbs={CRUMBS}>
      {found.isPending && <Skeleton lines={10} />}
      {isStatus(found.error, 404) ? (
        <Empty title="There is no such submission" />
      ) : (
        found.isError && (
          <ErrorBox
            title="The submission could not be loaded"
            error={found.error}
            onRetry={() => void found.refetch()}
          />
        )
      )}
    </Page>
  )
}

function Shown({ submission, progress }: { submission: Submission; progress: Progress }) {
  const { job_id: id, problem_id: problem, language, submitted_at: at, code = '', tests = progress.tests } = submission
  const problemFound = useQuery({
    queryKey: ['judge', 'problem', problem],
    queryFn: () => client.judge.problem(problem),
  })
  return (
    <Page title={problemFound.data?.title ?? problem} crumbs={CRUMBS} actions={<Rejudge submission={submission} />}>
      <p className="mb-4 flex flex-wrap items-center gap-x-4 gap-y-1 text-quiet">
        <Link to="/console/judge/problems/$problem" params={{ problem }} className="text-accent underline">
          {problem}
        </Link>
        <span>{languageName(language)}</span>
        <Time at={at} />
        <Copy text={id} shown={shortId(id)} label="submission id" />
      </p>
      <div className="grid gap-x-6 gap-y-6 lg:grid-cols-2">
        <div className="flex min-w-0 flex-col gap-6">
          <Verdict submission={submission} progress={progress} tests={problemFound.data?.tests ?? tests.length} />
          <Tests tests={tests} />
        </div>
        <Program submission={submission} code={code} />
      </div>
    </Page>
  )
}

function Program({ submission, code }: { submission: Submission; code: string }) {
  const { against } = submissionRoute.useSearch()
  const { job_id: job, problem_id: problem } = submission
  const navigate = useNavigate()
  const others = useQuery({
    queryKey: ['judge', 'submissions', problem],
    queryFn: async () => (await client.judge.submissions({ problem_id: problem, limit: 50 })).submissions,
    staleTime: 0,
  })
  const other = useQuery({
    queryKey: ['judge', 'submission', against],
    queryFn: () => client.judge.status(against ?? '', { code: true }),
    enabled: against !== undefined,
  })
  const choices = (others.data ?? []).filter(({ job_id: id }) => id !== job)
  return (
    <section aria-label="Program" className="flex min-w-0 flex-col gap-3">
      {choices.length > 0 && (
        <label className="flex flex-wrap items-center gap-2">
          <span className="text-quiet">Compare with</span>
          <select
            value={against ?? ''}
            className={`${inputClass} w-auto max-w-full`}
            onChange={({ currentTarget: { value } }) =>
              void navigate({
                to: '/console/judge/submissions/$job',
                params: { job },
                search: value === '' ? {} : { against: value },
                replace: true,
              })
            }
          >
            <option value="">nothing</option>
            {choices.map((line) => (
              <option key={line.job_id} value={line.job_id}>
                {`${stateOf(line).word}, ${exact(Date.parse(line.submitted_at)).slice(0, 19)}`}
              </option>
            ))}
          </select>
        </label>
      )}
      {other.isError && <ErrorBox title="The other submission could not be loaded" error={other.error} />}
      {against !== undefined && other.data?.code !== undefined ? (
        <Difference was={other.data.code} is={code} labels={['The other one', 'This one']} />
      ) : (
        <Block label="Program" text={code} />
      )}
    </section>
  )
}

function Rejudge({ submission: { job_id: id, status } }: { submission: Submission }) {
  const session = useSession()
  const navigate = useNavigate()
  const [isAsking, setAsking] = useState(false)
  if (!session.has('ADMIN') || status !== 'FINISHED') return null
  return (
    <>
      <Button icon="replay" onClick={() => setAsking(true)}>
        Judge again
      </Button>
      <Confirm
        isOpen={isAsking}
        onClose={() => setAsking(false)}
        title="Judge this submission again?"
        action="Judge again"
        onConfirm={async () => {
          const { job_id: job } = await client.judge.rejudge(id)
          void queries.invalidateQueries({ queryKey: ['judge', 'submissions'] })
          await navigate({ to: '/console/judge/submissions/$job', params: { job } })
        }}
      >
        A new submission of the same account is judged by the package that is in force now. This one keeps its verdict.
      </Confirm>
    </>
  )
}
