// For owners: which workers are there, which of them work, and how they stand.
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { number, plural } from '../../../clock/format.ts'
import { Page } from '../../../frame/page.tsx'
import { Button } from '../../../parts/controls/button.tsx'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { StateBadge } from '../../../parts/data/state-badge.tsx'
import { Table, type Column } from '../../../parts/data/table.tsx'
import { Time } from '../../../parts/data/time.tsx'
import { PoolTabs } from '../admin/tabs.tsx'
import { STANDING, workerState } from '../pool-words.ts'
import { RegisterWorker } from './register-worker.tsx'
import { useWorkers, type ShownWorker } from './worker-list.ts'

export function WorkersPage() {
  const { list, workers } = useWorkers()
  const [isRegistering, setRegistering] = useState(false)
  const navigate = useNavigate()
  const online = workers.filter(({ status }) => status === 'online').length
  const register = (
    <Button look="main" icon="plus" onClick={() => setRegistering(true)}>
      Register a worker
    </Button>
  )
  return (
    <Page
      title="Workers"
      aside={
        workers.length > 0 && (
          <StateBadge
            tone={online > 0 ? 'good' : 'quiet'}
            word={`${number(online)} of ${number(workers.length)} online`}
          />
        )
      }
      actions={workers.length > 0 && register}
      fills
    >
      <PoolTabs />
      {list.isError && (
        <ErrorBox title="Your workers could not be loaded" error={list.error} onRetry={() => void list.refetch()} />
      )}
      <Table<ShownWorker>
        label="Workers"
        className="flex-1"
        rows={workers}
        columns={COLUMNS}
        rowKey={({ id }) => String(id)}
        isLoading={list.isPending}
        place="pool workers"
        onOpen={({ id }) => void navigate({ to: '/console/pool/workers/$workerId', params: { workerId: String(id) } })}
        empty={
          !list.isError && (
            <Empty title="No worker yet" action={register}>
              A worker is a machine of yours that takes jobs from this server and signs its results.
            </Empty>
          )
        }
      />
      {isRegistering && <RegisterWorker onClose={() => setRegistering(false)} />}
    </Page>
  )
}

const COLUMNS: readonly Column<ShownWorker>[] = [
  {
    head: 'Worker',
    width: 'minmax(96px, 2fr)',
    cell: ({ id, name }) => (
      <Link
        to="/console/pool/workers/$workerId"
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
  {
    head: 'State',
    width: '112px',
    cell: (worker) => <StateBadge {...workerState(worker)} />,
  },
  { head: 'Last seen', width: '104px', cell: ({ last_seen_at: at }) => <Time at={at} inList /> },
  {
    head: 'Standing',
    width: '152px',
    wideOnly: true,
    cell: ({ record }) => (record === null ? '–' : <StateBadge {...STANDING[record.standing]} />),
  },
  {
    head: 'Reputation',
    width: '104px',
    align: 'right',
    wideOnly: true,
    cell: ({ record }) => record?.reputation.toFixed(1) ?? '–',
  },
  {
    head: 'Completed',
    width: '104px',
    align: 'right',
    roomyOnly: true,
    cell: ({ record }) => (record === null ? '–' : number(record.completed)),
  },
  {
    head: 'Failed, lost',
    width: '112px',
    align: 'right',
    roomyOnly: true,
    cell: ({ record }) => (
      <span title={record === null ? '' : `${plural(record.lost, 'lease')} expired`}>
        {record === null ? '–' : `${number(record.failed)}, ${number(record.lost)}`}
      </span>
    ),
  },
]
