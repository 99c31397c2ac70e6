// A problem: what is asked on the left, the editor on the right, the verdict below it.
import type { ProblemDetail } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { plural } from '../../../clock/format.ts'
import { Page } from '../../../frame/page.tsx'
import { buttonClass } from '../../../parts/controls/button.tsx'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { Skeleton } from '../../../parts/feedback/skeleton.tsx'
import { client } from '../../../session/client.ts'
import { isStatus } from '../../../session/errors.ts'
import { problemRoute } from '../routes.ts'
import { Samples } from '../statement/samples.tsx'
import { Statement } from '../statement/statement.tsx'
import { milliseconds } from '../submissions/verdicts.ts'
import { Workbench } from './workbench.tsx'

const CRUMBS = [{ label: 'Judge', to: '/console/judge' }]

export function ProblemPage() {
  const { problem: id } = problemRoute.useParams()
  const found = useQuery({ queryKey: ['judge', 'problem', id], queryFn: () => client.judge.problem(id) })
  if (found.data !== undefined) return <Shown key={id} problem={found.data} />
  return (
    <Page title={id} crumbs={CRUMBS}>
      {found.isPending && <Skeleton lines={10} />}
      {isStatus(found.error, 404) ? (
        <Empty title="There is no such problem" />
      ) : (
        found.isError && (
          <ErrorBox title="The problem could not be loaded" error={found.error} onRetry={() => void found.refetch()} />
        )
      )}
    </Page>
  )
}

function Shown({ problem }: { problem: ProblemDetail }) {
  const { title, problem_id: id } = problem
  return (
    <Page
      title={title}
      crumbs={CRUMBS}
      fills
      aside={<span className="text-quiet">{limitsOf(problem)}</span>}
      actions={
        <Link to="/console/judge/submissions" search={{ problem: id }} className={buttonClass()}>
          Submissions
        </Link>
      }
    >
      <div className="grid min-h-0 flex-1 gap-x-6 gap-y-4 overflow-y-auto pb-6 lg:grid-cols-2 lg:overflow-hidden">
        <section aria-label="Statement" tabIndex={0} className="min-w-0 lg:overflow-y-auto lg:pr-2">
          <Statement problem={problem} />
          <Samples problem={problem} />
        </section>
        <Workbench problem={problem} />
      </div>
    </Page>
  )
}

function limitsOf({ time_limit_ms: ms, memory_mb: mb, max_score: points, interactive }: ProblemDetail): string {
  const parts = [milliseconds(ms), `${mb} MB`]
  if (points !== null) parts.push(plural(points, 'point'))
  if (interactive) parts.push('interactive')
  return parts.join(' · ')
}
