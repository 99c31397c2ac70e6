// Who did what and when.
import type { DeskAuditEntry } from '@reeve/sdk'
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
import { actionState } from './action-words.ts'

const PAGE_ROWS = 100
const route = getRouteApi('/console/desk/trail')

export function TrailPage() {
  const { uuid } = route.useSearch()
  const navigate = useNavigate()
  const trail = useInfiniteQuery({
    queryKey: ['desk', 'trail', uuid ?? ''],
    queryFn: ({ pageParam }) =>
      client.desk.audit({
        limit: PAGE_ROWS,
        ...(uuid === undefined ? {} : { uuid }),
        ...(pageParam === null ? {} : { before: pageParam }),
      }),
    initialPageParam: null,
    getNextPageParam: ({ next_before: next }: { next_before: number | null }): number | null => next,
    staleTime: 0,
  })
  return (
    <Page
      title="Trail"
      crumbs={[
        { label: 'Desk', to: '/console/desk' },
        { label: 'Supervise', to: '/console/desk/supervise' },
      ]}
      actions={
        uuid !== undefined && (
          <Button onClick={() => void navigate({ to: '/console/desk/trail', search: {} })}>Of all tasks</Button>
        )
      }
      fills
    >
      {trail.isError && (
        <ErrorBox title="The trail could not be loaded" error={trail.error} onRetry={() => void trail.refetch()} />
      )}
      <Table<DeskAuditEntry>
        label="Trail"
        className="flex-1"
        rows={trail.data?.pages.flatMap(({ entries }) => entries) ?? []}
        columns={COLUMNS}
        rowKey={({ audit_id: id }) => String(id)}
        isLoading={trail.isPending}
        hasMore={trail.hasNextPage}
        onEnd={() => void (trail.isFetching ? undefined : trail.fetchNextPage())}
        onOpen={(entry) =>
          entry.uuid !== null && void navigate({ to: '/console/desk/trail', search: { uuid: entry.uuid } })
        }
        empty={<Empty title="Nothing has happened yet" />}
      />
    </Page>
  )
}

const COLUMNS: readonly Column<DeskAuditEntry>[] = [
  { head: 'When', width: '112px', cell: ({ at }) => <Time at={at} inList /> },
  { head: 'Who', width: 'minmax(72px, 1fr)', cell: ({ actor }) => <span dir="auto">{actor}</span> },
  { head: 'What', width: '160px', cell: ({ action }) => <StateBadge {...actionState(action)} /> },
  {
    head: 'Whose',
    width: '120px',
    roomyOnly: true,
    cell: ({ operator, actor }) => <span dir="auto">{operator === actor ? '' : (operator ?? '')}</span>,
  },
  {
    head: 'Domain',
    width: 'minmax(120px, 1.4fr)',
    wideOnly: true,
    cell: ({ domain }) => <span dir="auto">{domain ?? ''}</span>,
  },
  {
    head: 'Remark',
    width: 'minmax(120px, 2fr)',
    wideOnly: true,
    cell: ({ detail }) => <span dir="auto">{detail ?? ''}</span>,
  },
]
