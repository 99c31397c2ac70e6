// For admins: jobs with a known output, by which the server learns whom to trust.
import type { PoolCanary } from '@reeve/sdk'
import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { number, plural } from '../../../clock/format.ts'
import { Page } from '../../../frame/page.tsx'
import { Button } from '../../../parts/controls/button.tsx'
import { Confirm } from '../../../parts/feedback/confirm.tsx'
import { Dialog } from '../../../parts/feedback/dialog.tsx'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { Fact, Facts } from '../../../parts/data/facts.tsx'
import { Copy } from '../../../parts/controls/copy.tsx'
import { Json } from '../../../parts/data/json.tsx'
import { notify } from '../../../parts/feedback/notify.ts'
import { Table, type Column } from '../../../parts/data/table.tsx'
import { Time } from '../../../parts/data/time.tsx'
import { client } from '../../../session/client.ts'
import { NewCanary } from './new-canary.tsx'
import { PoolTabs } from './tabs.tsx'

const PAGE_ROWS = 100

type Asked = { dialog: 'new' } | { dialog: 'canary' | 'retire'; canary: PoolCanary }

export function CanariesPage() {
  const list = useCanaries()
  const [asked, setAsked] = useState<Asked | null>(null)
  const add = (
    <Button look="main" icon="plus" onClick={() => setAsked({ dialog: 'new' })}>
      New canary
    </Button>
  )
  return (
    <Page title="Pool" tabTitle="Canaries" actions={add} fills>
      <PoolTabs />
      {list.isError && (
        <ErrorBox title="The canaries could not be loaded" error={list.error} onRetry={() => void list.refetch()} />
      )}
      <Table<PoolCanary>
        label="Canaries"
        className="flex-1"
        rows={list.data?.pages.flat() ?? []}
        columns={COLUMNS}
        rowKey={({ canary_id: id }) => String(id)}
        isLoading={list.isPending || list.isFetchingNextPage}
        hasMore={list.hasNextPage}
        onEnd={() => void (list.isFetching ? undefined : list.fetchNextPage())}
        place="pool canaries"
        onOpen={(canary) => setAsked({ dialog: 'canary', canary })}
        empty={
          !list.isError && (
            <Empty title="No canaries">
              A canary is a job whose output you know. Workers get it among the others, and wrong outputs cost them
              their trust. Without canaries every worker is trusted.
            </Empty>
          )
        }
      />
      {asked !== null && <CanaryDialogs asked={asked} onAsk={setAsked} onChanged={() => list.refetch()} />}
    </Page>
  )
}

interface CanaryDialogsProps {
  asked: Asked
  onAsk: (asked: Asked | null) => void
  onChanged: () => Promise<unknown>
}

function CanaryDialogs({ asked, onAsk, onChanged }: CanaryDialogsProps) {
  const close = () => onAsk(null)
  if (asked.dialog === 'new') {
    return (
      <NewCanary
        onClose={close}
        onAdded={() => {
          close()
          void onChanged()
        }}
      />
    )
  }
  const { canary } = asked
  if (asked.dialog === 'canary') {
    return <CanaryDialog canary={canary} onClose={close} onRetire={() => onAsk({ dialog: 'retire', canary })} />
  }
  return (
    <Confirm
      isOpen
      onClose={close}
      title={`Retire canary ${canary.canary_id}?`}
      action="Retire the canary"
      isDangerous
      onConfirm={async () => {
        await client.poolAdmin.retireCanary(canary.canary_id)
        notify({ title: `Canary ${canary.canary_id} is retired` })
        await onChanged()
      }}
    >
      No worker gets it any more. What workers answered to it still counts.
    </Confirm>
  )
}

const useCanaries = () =>
  useInfiniteQuery({
    queryKey: ['pool', 'canaries'],
    queryFn: ({ pageParam }) => client.poolAdmin.canaries({ after: pageParam, limit: PAGE_ROWS }),
    initialPageParam: 0,
    getNextPageParam: (page: readonly PoolCanary[]): number | null =>
      page.length < PAGE_ROWS ? null : (page.at(-1)?.canary_id ?? null),
    refetchOnMount: 'always',
  })

function CanaryDialog({
  canary,
  onClose,
  onRetire,
}: {
  canary: PoolCanary
  onClose: () => void
  onRetire: () => void
}) {
  return (
    <Dialog
      isOpen
      isWide
      onClose={onClose}
      title={`Canary ${canary.canary_id}`}
      footer={
        <Button look="danger" onClick={onRetire}>
          Retire…
        </Button>
      }
    >
      <Facts>
        <Fact name="Given to">{plural(canary.used_by, 'worker')}</Fact>
        <Fact name="Region">
          <span dir="auto">{canary.region ?? 'any'}</span>
        </Fact>
        <Fact name="Added">
          <Time at={canary.created_at} />
        </Fact>
        <Fact name="Hash of the output">
          <Copy text={canary.expected_hash} shown={`${canary.expected_hash.slice(0, 12)}…`} label="hash" />
        </Fact>
      </Facts>
      <div className="mt-4">
        <Json value={canary.payload} label="Payload" />
      </div>
    </Dialog>
  )
}

const COLUMNS: readonly Column<PoolCanary>[] = [
  { head: 'Canary', width: '80px', cell: ({ canary_id: id }) => number(id) },
  {
    head: 'Payload',
    width: 'minmax(120px, 2fr)',
    cell: ({ payload }) => (
      <span dir="auto" className="font-mono text-[13px]">
        {JSON.stringify(payload).slice(0, 200)}
      </span>
    ),
  },
  {
    head: 'Region',
    width: '120px',
    wideOnly: true,
    cell: ({ region }) => <span dir="auto">{region ?? 'any'}</span>,
  },
  { head: 'Given to', width: '96px', align: 'right', cell: ({ used_by: workers }) => plural(workers, 'worker') },
  {
    head: 'Added',
    width: '104px',
    align: 'right',
    wideOnly: true,
    cell: ({ created_at: at }) => <Time at={at} inList />,
  },
]
