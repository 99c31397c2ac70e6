// Which problems are there, and which of them are solved?
import type { Problem } from '@reeve/sdk'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { Page } from '../../../frame/page.tsx'
import { buttonClass } from '../../../parts/controls/button.tsx'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { StateBadge } from '../../../parts/data/state-badge.tsx'
import { Table, type Column } from '../../../parts/data/table.tsx'
import { Time } from '../../../parts/data/time.tsx'
import { client } from '../../../session/client.ts'
import { useSession } from '../../../session/session.tsx'
import { milliseconds } from '../submissions/verdicts.ts'

const PAGE = 200

export function ProblemsPage() {
  const session = useSession()
  const navigate = useNavigate()
  const found = useInfiniteQuery({
    queryKey: ['judge', 'problems'],
    queryFn: ({ pageParam }) => client.judge.problems({ limit: PAGE, after: pageParam }),
    initialPageParam: '',
    getNextPageParam: ({ next_after: after }) => after,
    staleTime: 0,
  })
  const solved = useQuery({
    queryKey: ['judge', 'solved'],
    queryFn: async () => {
      const { submissions } = await client.judge.submissions({ verdict: 'AC', limit: 200 })
      return new Set(submissions.map(({ problem_id: id }) => id))
    },
    staleTime: 0,
  })
  const rows = found.data?.pages.flatMap(({ problems }) => problems) ?? []
  return (
    <Page
      title="Problems"
      crumb="Judge"
      fills
      actions={
        <>
          <Link to="/console/judge/submissions" className={buttonClass()}>
            Submissions
          </Link>
          {session.has('ADMIN') && (
            <Link to="/console/judge/import" className={buttonClass('main')}>
              Import a package
            </Link>
          )}
        </>
      }
    >
      {found.isError ? (
        <ErrorBox title="The problems could not be loaded" error={found.error} onRetry={() => void found.refetch()} />
      ) : (
        <Table
          label="Problems"
          className="flex-1"
          rows={rows}
          columns={columnsWith(solved.data ?? new Set())}
          rowKey={({ problem_id: id }) => id}
          onOpen={({ problem_id: problem }) =>
            void navigate({ to: '/console/judge/problems/$problem', params: { problem } })
          }
          isLoading={found.isPending}
          hasMore={found.hasNextPage}
          onEnd={() => void (found.isFetching ? undefined : found.fetchNextPage())}
          place="judge problems"
          empty={
            <Empty title="There are no problems yet">
              {session.has('ADMIN') ? 'Import a package to begin.' : 'An admin has to import one.'}
            </Empty>
          }
        />
      )}
    </Page>
  )
}

const columnsWith = (solved: ReadonlySet<string>): readonly Column<Problem>[] => [
  {
    head: 'Problem',
    width: 'minmax(140px, 3fr)',
    cell: ({ title, problem_id: id }) => (
      <span className="flex min-w-0 items-baseline gap-2">
        <span className="truncate font-medium" dir="auto">
          {title}
        </span>
        <span className="truncate text-small text-quiet max-sm:hidden">{id}</span>
      </span>
    ),
  },
  {
    head: 'State',
    width: '112px',
    cell: ({ problem_id: id }) => (solved.has(id) ? <StateBadge tone="good" word="Solved" /> : null),
  },
  {
    head: 'Kind',
    width: '120px',
    roomyOnly: true,
    cell: ({ type, interactive }) => (interactive ? 'Interactive' : type === 'scoring' ? 'Points' : 'Pass or fail'),
  },
  { head: 'Tests', width: '72px', align: 'right', roomyOnly: true, cell: ({ tests }) => tests },
  { head: 'Time', width: '88px', align: 'right', cell: ({ time_limit_ms: ms }) => milliseconds(ms) },
  { head: 'Memory', width: '96px', align: 'right', wideOnly: true, cell: ({ memory_mb: mb }) => `${mb} MB` },
  { head: 'Changed', width: '120px', align: 'right', wideOnly: true, cell: ({ updated_at: at }) => <Time at={at} inList /> },
]
