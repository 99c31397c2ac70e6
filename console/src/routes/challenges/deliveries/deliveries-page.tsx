import type { Delivery } from '@reeve/sdk'
import { Link, useNavigate } from '@tanstack/react-router'
import { Page } from '../../../frame/page.tsx'
import { Button } from '../../../parts/controls/button.tsx'
import { shortId } from '../../../parts/controls/copy.tsx'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { StateBadge } from '../../../parts/data/state-badge.tsx'
import { Table, type Column } from '../../../parts/data/table.tsx'
import { Time } from '../../../parts/data/time.tsx'
import { deliveriesRoute } from '../routes.ts'
import { useDeliveryList } from './delivery-list.ts'
import { ReplayAll } from './replay.tsx'
import { DELIVERY_STATES, deliveryState, STATUSES, topicWord } from './words.ts'

export function DeliveriesPage() {
  const { status = 'dead' } = deliveriesRoute.useSearch()
  const navigate = useNavigate()
  const list = useDeliveryList(status)
  return (
    <Page
      title="Deliveries"
      crumbs={[{ label: 'Challenges', to: '/console/challenges' }]}
      fills
      {...(status === 'dead' && list.deliveries.length > 0 ? { actions: <ReplayAll /> } : {})}
    >
      <StatusTabs status={status} />
      {list.problem !== null && (
        <ErrorBox title="The deliveries could not be loaded" error={list.problem} onRetry={() => void list.refetch()} />
      )}
      <Table
        label="Deliveries"
        className="flex-1"
        rows={list.deliveries}
        columns={COLUMNS}
        rowKey={({ delivery_id: id }) => String(id)}
        onOpen={({ delivery_id: id }) =>
          void navigate({ to: '/console/challenges/deliveries/$deliveryId', params: { deliveryId: String(id) } })
        }
        isLoading={list.isPending || list.isFetchingNextPage}
        hasMore={list.hasNextPage}
        onEnd={() => void (list.isFetching ? undefined : list.fetchNextPage())}
        place={`deliveries ${status}`}
        empty={EMPTY[status]}
      />
    </Page>
  )
}

function StatusTabs({ status }: { status: Delivery['status'] }) {
  const navigate = useNavigate()
  return (
    <div role="group" aria-label="State" className="flex flex-wrap gap-1 pb-3">
      {STATUSES.map((one) => (
        <Button
          key={one}
          look={one === status ? 'plain' : 'bare'}
          aria-pressed={one === status}
          onClick={() =>
            void navigate({ to: '/console/challenges/deliveries', search: { status: one }, replace: true })
          }
        >
          {DELIVERY_STATES[one].word}
        </Button>
      ))}
    </div>
  )
}

const EMPTY = {
  dead: (
    <Empty title="No dead letters">
      A request that could not be delivered after all its attempts appears here, and can be sent again.
    </Empty>
  ),
  pending: <Empty title="Nothing waits">Every request has been delivered, or was given up.</Empty>,
  delivered: <Empty title="Nothing was delivered yet">Callbacks and challenges that arrived appear here.</Empty>,
}

const COLUMNS: readonly Column<Delivery>[] = [
  {
    head: 'What',
    width: 'minmax(96px, 2fr)',
    cell: ({ delivery_id: id, topic, subject }) => (
      <Link
        to="/console/challenges/deliveries/$deliveryId"
        params={{ deliveryId: String(id) }}
        tabIndex={-1}
        className="hover:underline"
        title={subject}
      >
        <span className="font-medium">{topicWord(topic)}</span>{' '}
        <span className="font-mono text-[13px] text-quiet" dir="auto">
          {shortId(subject)}
        </span>
      </Link>
    ),
  },
  { head: 'State', width: '112px', cell: (delivery) => <StateBadge {...deliveryState(delivery)} /> },
  {
    head: 'Why',
    width: 'minmax(120px, 1.2fr)',
    wideOnly: true,
    cell: ({ last_error: error }) => (
      <span className="text-quiet" dir="auto" title={error ?? undefined}>
        {error ?? ''}
      </span>
    ),
  },
  {
    head: 'To',
    width: 'minmax(120px, 1.4fr)',
    roomyOnly: true,
    cell: ({ url }) => (
      <span className="font-mono text-[13px]" title={url}>
        {url}
      </span>
    ),
  },
  { head: 'Attempts', width: '88px', align: 'right', wideOnly: true, cell: ({ attempts }) => attempts },
  { head: 'Queued', width: '104px', align: 'right', cell: ({ created_at: at }) => <Time at={at} inList /> },
]
