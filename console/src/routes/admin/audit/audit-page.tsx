import type { AuditEntry } from '@reeve/sdk'
import { useInfiniteQuery } from '@tanstack/react-query'
import { getRouteApi, useNavigate } from '@tanstack/react-router'
import { Page } from '../../../frame/page.tsx'
import { Button } from '../../../parts/controls/button.tsx'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { StateBadge } from '../../../parts/data/state-badge.tsx'
import { Table, type Column } from '../../../parts/data/table.tsx'
import { Time } from '../../../parts/data/time.tsx'
import { client } from '../../../session/client.ts'
import { AdminTabs } from '../tabs.tsx'
import { auditDetail, auditState } from './audit-words.ts'

const PAGE_ROWS = 100
const route = getRouteApi('/console/admin/audit')

export function AuditPage() {
  const { account } = route.useSearch()
  const navigate = useNavigate()
  const trail = useTrail(account)
  const rows = trail.data?.pages.flatMap(({ events }) => events) ?? []
  return (
    <Page
      title="Admin"
      tabTitle="Audit trail"
      actions={
        <Button icon="replay" isBusy={trail.isFetching} onClick={() => void trail.refetch()}>
          Load again
        </Button>
      }
      fills
    >
      <AdminTabs />
      <p className="mb-2 flex min-h-8 flex-wrap items-center gap-3 text-quiet">
        {account === undefined ? (
          'Open a row to see the account of it alone.'
        ) : (
          <>
            <span>
              Only <span dir="auto">{rows[0] === undefined ? `account ${account}` : nameOf(rows[0])}</span>
            </span>
            <Button onClick={() => void navigate({ to: '/console/admin/audit', search: {} })}>Show all accounts</Button>
          </>
        )}
      </p>
      {trail.isError && (
        <ErrorBox
          title="The audit trail could not be loaded"
          error={trail.error}
          onRetry={() => void trail.refetch()}
        />
      )}
      <Table<AuditEntry>
        label="Audit trail"
        className="min-h-60 flex-1"
        rows={rows}
        columns={COLUMNS}
        rowKey={({ id }) => String(id)}
        onOpen={({ account_id: id }) => void navigate({ to: '/console/admin/audit', search: { account: id } })}
        isLoading={trail.isPending}
        hasMore={trail.hasNextPage}
        onEnd={() => void (trail.isFetching ? undefined : trail.fetchNextPage())}
        empty={
          <Empty title="Nothing is recorded">Sign-ins, changes of accounts and use of API keys appear here.</Empty>
        }
      />
    </Page>
  )
}

const useTrail = (account: number | undefined) =>
  useInfiniteQuery({
    queryKey: ['admin', 'audit', account ?? null],
    queryFn: ({ pageParam }) =>
      client.admin.audit({
        limit: PAGE_ROWS,
        ...(account === undefined ? {} : { account_id: account }),
        ...(pageParam === null ? {} : { before: pageParam }),
      }),
    initialPageParam: null,
    getNextPageParam: ({ next_before: next }: { next_before: number | null }): number | null => next,
    staleTime: 0,
  })

const nameOf = ({ username, account_id: id }: AuditEntry): string => username ?? `account ${id}`

const COLUMNS: readonly Column<AuditEntry>[] = [
  { head: 'When', width: '104px', cell: ({ created_at: at }) => <Time at={at} inList /> },
  { head: 'What', width: '160px', cell: ({ event }) => <StateBadge {...auditState(event)} /> },
  { head: 'Account', width: 'minmax(80px, 1.4fr)', cell: (entry) => <span dir="auto">{nameOf(entry)}</span> },
  {
    head: 'By',
    width: 'minmax(72px, 1fr)',
    wideOnly: true,
    cell: ({ actor, actor_id: id, account_id: own }) =>
      id === null || id === own ? '' : <span dir="auto">{actor ?? `account ${id}`}</span>,
  },
  {
    head: 'Detail',
    width: 'minmax(96px, 2fr)',
    wideOnly: true,
    cell: (entry) => <span dir="auto">{auditDetail(entry)}</span>,
  },
  { head: 'From', width: '136px', roomyOnly: true, cell: ({ address }) => address },
]
