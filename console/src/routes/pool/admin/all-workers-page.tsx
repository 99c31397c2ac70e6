// For admins: the workers of all owners, how they stand, and which are banned.
import type { PoolStanding } from '@reeve/sdk'
import { Link, useNavigate } from '@tanstack/react-router'
import { number } from '../../../clock/format.ts'
import { Page } from '../../../frame/page.tsx'
import { buttonClass } from '../../../parts/controls/button.tsx'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { StateBadge } from '../../../parts/data/state-badge.tsx'
import { Table, type Column } from '../../../parts/data/table.tsx'
import { Time } from '../../../parts/data/time.tsx'
import { STANDING, workerState } from '../pool-words.ts'
import { allWorkersRoute } from '../routes.ts'
import { useAllWorkers } from './all-workers.ts'
import { PoolTabs } from './tabs.tsx'

const FILTERS = [
  { label: 'All', search: {} },
  { label: 'Offline', search: { offline: 'yes' } },
  { label: 'Banned', search: { banned: 'yes' } },
] as const

export function AllWorkersPage() {
  const search = allWorkersRoute.useSearch()
  const filter = { banned: search.banned === 'yes', offline: search.offline === 'yes' }
  const { list, workers } = useAllWorkers(filter)
  const navigate = useNavigate()
  return (
    <Page title="Pool" tabTitle="All workers" fills>
      <PoolTabs />
      <nav aria-label="Which workers" className="mb-2 flex gap-2">
        {FILTERS.map(({ label, search: wanted }) => (
          <Link
            key={label}
            to="/console/pool/all"
            search={wanted}
            replace
            activeOptions={{ exact: true, includeSearch: true }}
            className={buttonClass('bare')}
            activeProps={{ className: '!border-line !bg-surface !text-text', 'aria-current': 'true' }}
          >
            {label}
          </Link>
        ))}
      </nav>
      {list.isError && (
        <ErrorBox title="The workers could not be loaded" error={list.error} onRetry={() => void list.refetch()} />
      )}
      <Table<PoolStanding>
        label="Workers"
        className="flex-1"
        rows={workers}
        columns={COLUMNS}
        rowKey={({ worker_id: id }) => String(id)}
        isLoading={list.isPending || list.isFetchingNextPage}
        hasMore={list.hasNextPage}
        onEnd={() => void (list.isFetching ? undefined : list.fetchNextPage())}
        place="pool all workers"
        onOpen={({ worker_id: id }) =>
          void navigate({ to: '/console/pool/all/$workerId', params: { workerId: String(id) } })
        }
        empty={!list.isError && <NoWorkers {...filter} />}
      />
    </Page>
  )
}

function NoWorkers({ banned, offline }: { banned: boolean; offline: boolean }) {
  if (banned) return <Empty title="No banned worker">A worker is banned here, or by wrong results of canaries.</Empty>
  if (offline) return <Empty title="No worker is offline">Every worker was heard within its lease.</Empty>
  return <Empty title="No worker yet">Accounts with the role of an owner of workers register them.</Empty>
}

const COLUMNS: readonly Column<PoolStanding>[] = [
  {
    head: 'Worker',
    width: 'minmax(96px, 2fr)',
    cell: ({ worker_id: id, name }) => (
      <Link
        to="/console/pool/all/$workerId"
        params={{ workerId: String(id) }}
        tabIndex={-1}
        className="font-medium hover:underline"
        title={name}
        dir="auto"
      >
        {name}
      </Link>
    ),
  },
  { head: 'State', width: '112px', cell: (worker) => <StateBadge {...workerState(worker)} /> },
  { head: 'Last seen', width: '104px', cell: ({ last_seen_at: at }) => <Time at={at} inList /> },
  {
    head: 'Owner',
    width: 'minmax(80px, 1fr)',
    wideOnly: true,
    cell: ({ owner }) => (
      <span dir="auto" title={owner ?? ''}>
        {owner ?? '–'}
      </span>
    ),
  },
  { head: 'Standing', width: '152px', wideOnly: true, cell: ({ standing }) => <StateBadge {...STANDING[standing]} /> },
  {
    head: 'Reputation',
    width: '104px',
    align: 'right',
    wideOnly: true,
    cell: ({ reputation }) => reputation.toFixed(2),
  },
  {
    head: 'Canaries, wrong',
    width: '136px',
    align: 'right',
    roomyOnly: true,
    cell: ({ canaries_passed: passed, canaries_wrong: wrong }) => (
      <span className={wrong > 0 ? 'text-bad-fg' : ''}>{`${number(passed + wrong)}, ${number(wrong)}`}</span>
    ),
  },
  {
    head: 'Completed',
    width: '104px',
    align: 'right',
    roomyOnly: true,
    cell: ({ completed }) => number(completed),
  },
]
