// What one has done, and how it went.
import type { DeskAuditEntry, DeskOperator } from '@reeve/sdk'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { duration, number } from '../../../clock/format.ts'
import { Page } from '../../../frame/page.tsx'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { StateBadge } from '../../../parts/data/state-badge.tsx'
import { Table, type Column } from '../../../parts/data/table.tsx'
import { Time } from '../../../parts/data/time.tsx'
import { client } from '../../../session/client.ts'
import { useSession } from '../../../session/session.tsx'
import { actionState } from '../supervise/action-words.ts'

const PAGE_ROWS = 100

export function HistoryPage() {
  const { me } = useSession()
  const name = me?.username ?? ''
  const navigate = useNavigate()
  const figures = useQuery({
    queryKey: ['desk', 'operators', 24],
    queryFn: () => client.desk.operators(24),
    staleTime: 0,
  })
  const trail = useInfiniteQuery({
    queryKey: ['desk', 'history', name],
    queryFn: ({ pageParam }) =>
      client.desk.audit({ actor: name, limit: PAGE_ROWS, ...(pageParam === null ? {} : { before: pageParam }) }),
    initialPageParam: null,
    getNextPageParam: ({ next_before: next }: { next_before: number | null }): number | null => next,
    staleTime: 0,
  })
  const rows = trail.data?.pages.flatMap(({ entries }) => entries) ?? []
  return (
    <Page title="My work" crumbs={[{ label: 'Desk', to: '/console/desk' }]} fills>
      <Figures figures={figures.data?.find(({ operator }) => operator === name)} />
      {trail.isError && (
        <ErrorBox title="Your work could not be loaded" error={trail.error} onRetry={() => void trail.refetch()} />
      )}
      <Table<DeskAuditEntry>
        label="What you have done"
        className="flex-1"
        rows={rows}
        columns={COLUMNS}
        rowKey={({ audit_id: id }) => String(id)}
        isLoading={trail.isPending}
        hasMore={trail.hasNextPage}
        onEnd={() => void (trail.isFetching ? undefined : trail.fetchNextPage())}
        onOpen={({ uuid }) => uuid !== null && void navigate({ to: '/console/desk', search: { task: uuid } })}
        empty={<Empty title="Nothing yet">Tasks that you claim and solve are listed here.</Empty>}
      />
    </Page>
  )
}

const COLUMNS: readonly Column<DeskAuditEntry>[] = [
  { head: 'When', width: '104px', cell: ({ at }) => <Time at={at} inList /> },
  { head: 'What', width: '160px', cell: ({ action }) => <StateBadge {...actionState(action)} /> },
  { head: 'Domain', width: 'minmax(88px, 1fr)', cell: ({ domain }) => <span dir="auto">{domain ?? '–'}</span> },
  {
    head: 'Took',
    width: '96px',
    align: 'right',
    wideOnly: true,
    cell: ({ held_ms: ms }) => (ms === null ? '–' : duration(ms)),
  },
  {
    head: 'Remark',
    width: 'minmax(160px, 2fr)',
    wideOnly: true,
    cell: ({ detail }) => <span dir="auto">{detail ?? ''}</span>,
  },
]

function Figures({ figures }: { figures: DeskOperator | undefined }) {
  const shown: readonly (readonly [string, string])[] = [
    ['Solved in 24 h', number(figures?.solved ?? 0)],
    ['Unsolvable', number(figures?.unsolvable ?? 0)],
    ['Given back', number(figures?.released ?? 0)],
    ['Lapsed', number(figures?.lapsed ?? 0)],
    ['Reported as bad', number(figures?.reported_bad ?? 0)],
    ['Typical time', typeof figures?.solve_ms_p50 === 'number' ? duration(figures.solve_ms_p50) : '–'],
  ]
  return (
    <dl className="mb-4 grid grid-cols-2 gap-x-6 gap-y-2 sm:grid-cols-3 lg:grid-cols-6">
      {shown.map(([name, value]) => (
        <div key={name}>
          <dt className="text-small text-quiet">{name}</dt>
          <dd className="text-title font-semibold">{value}</dd>
        </div>
      ))}
    </dl>
  )
}
