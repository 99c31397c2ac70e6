// A worker: whether it works, what it did, how it stands, and what its owner can do with it.
import type { PrivateKey } from '@reeve/sdk'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { number } from '../../../clock/format.ts'
import { Page } from '../../../frame/page.tsx'
import { Button } from '../../../parts/controls/button.tsx'
import { Confirm } from '../../../parts/feedback/confirm.tsx'
import { Copy } from '../../../parts/controls/copy.tsx'
import { Dialog } from '../../../parts/feedback/dialog.tsx'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { Field, Form } from '../../../parts/controls/form.tsx'
import { Fact, Facts } from '../../../parts/data/facts.tsx'
import { Json } from '../../../parts/data/json.tsx'
import { notify } from '../../../parts/feedback/notify.ts'
import { Skeleton } from '../../../parts/feedback/skeleton.tsx'
import { StateBadge } from '../../../parts/data/state-badge.tsx'
import { Time } from '../../../parts/data/time.tsx'
import { client } from '../../../session/client.ts'
import { messageOf } from '../../../session/errors.ts'
import { STANDING, workerState } from '../pool-words.ts'
import { workerRoute } from '../routes.ts'
import { KeyHandover } from './key-handover.tsx'
import { KeyChoice, keyFor } from './register-worker.tsx'
import { reloadWorkers, useWorkers, type ShownWorker } from './worker-list.ts'

const CRUMBS = [{ label: 'Workers', to: '/console/pool' }]

export function WorkerPage() {
  const { workerId } = workerRoute.useParams()
  const { list, workers } = useWorkers(Number(workerId))
  const [worker] = workers
  if (worker !== undefined) return <Shown worker={worker} />
  return (
    <Page title={`Worker ${workerId}`} crumbs={CRUMBS}>
      {list.isPending && <Skeleton lines={6} />}
      {list.isError && (
        <ErrorBox title="The worker could not be loaded" error={list.error} onRetry={() => void list.refetch()} />
      )}
      {list.isSuccess && <Empty title="You have no such worker">It may have been removed.</Empty>}
    </Page>
  )
}

function Shown({ worker }: { worker: ShownWorker }) {
  const { record, region, specs_json: specs, public_key: publicKey } = worker
  return (
    <Page
      title={worker.name}
      crumbs={CRUMBS}
      aside={<StateBadge {...workerState(worker)} />}
      actions={<Actions worker={worker} />}
    >
      {record !== null && record.standing === 'banned' && (
        <p className="mb-4 max-w-[100ch] rounded-md bg-bad-bg px-3 py-2 text-bad-fg" dir="auto">
          Banned: {record.ban_reason ?? 'its results were wrong'}
        </p>
      )}
      <Facts>
        <Fact name="Worker">{worker.id}</Fact>
        <Fact name="Last seen">
          <Time at={worker.last_seen_at} />
        </Fact>
        <Fact name="Standing">{record === null ? '–' : <StateBadge {...STANDING[record.standing]} />}</Fact>
        <Fact name="Reputation">{record === null ? '–' : `${record.reputation.toFixed(1)} of 1`}</Fact>
        <Fact name="Completed">{record === null ? '–' : number(record.completed)}</Fact>
        <Fact name="Failed">{record === null ? '–' : number(record.failed)}</Fact>
        <Fact name="Lost">{record === null ? '–' : number(record.lost)}</Fact>
        <Fact name="Region">
          <span dir="auto">{region ?? '–'}</span>
        </Fact>
        <Fact name="Public key">
          {publicKey === null || publicKey === '' ? (
            'None: its results are refused'
          ) : (
            <Copy text={publicKey} label="public key" />
          )}
        </Fact>
      </Facts>
      {specs !== null && (
        <div className="mt-6 max-w-3xl">
          <Json value={specs} label="Specs" />
        </div>
      )}
    </Page>
  )
}

type Asked = 'rename' | 'key' | 'remove'

function Actions({ worker: { id, name, paused = false } }: { worker: ShownWorker }) {
  const [asked, setAsked] = useState<Asked | null>(null)
  const navigate = useNavigate()
  const close = () => setAsked(null)
  const setPaused = async (isPaused: boolean) => {
    try {
      await client.pool.update(id, { paused: isPaused })
      await reloadWorkers()
    } catch (error) {
      notify({ title: 'The worker could not be changed', detail: messageOf(error), tone: 'bad' })
    }
  }
  return (
    <>
      <Button icon={paused ? 'run' : 'pause'} onClick={() => void setPaused(!paused)}>
        {paused ? 'Resume' : 'Pause'}
      </Button>
      <Button onClick={() => setAsked('rename')}>Rename</Button>
      <Button onClick={() => setAsked('key')}>New key</Button>
      <Button icon="bin" onClick={() => setAsked('remove')}>
        Remove
      </Button>
      <Dialog isOpen={asked === 'rename'} onClose={close} title="Rename the worker">
        <Form
          action="Rename"
          onSubmit={async (values) => {
            await client.pool.update(id, { name: values.text('name') })
            await reloadWorkers()
            close()
          }}
        >
          <Field name="name" label="Name" defaultValue={name} required maxLength={120} autoComplete="off" />
        </Form>
      </Dialog>
      {asked === 'key' && <NewKey workerId={id} onClose={close} />}
      <Confirm
        isOpen={asked === 'remove'}
        onClose={close}
        title="Remove this worker?"
        action="Remove the worker"
        isDangerous
        onConfirm={async () => {
          await client.pool.remove(id)
          await reloadWorkers()
          await navigate({ to: '/console/pool' })
        }}
      >
        What it works on goes to another worker, and its name is free. Its results and receipts stay.
      </Confirm>
    </>
  )
}

function NewKey({ workerId, onClose }: { workerId: number; onClose: () => void }) {
  const [made, setMade] = useState<{ privateKey: PrivateKey | null } | null>(null)
  return (
    <Dialog isOpen onClose={onClose} title={made === null ? 'Replace its key' : 'The key is replaced'}>
      {made === null ? (
        <Form
          action="Replace the key"
          onSubmit={async (values) => {
            const { publicKey, privateKey } = await keyFor(values)
            await client.pool.setKey(workerId, publicKey)
            await reloadWorkers()
            setMade({ privateKey })
          }}
        >
          <p>Results that are signed with the old key are refused from then on.</p>
          <KeyChoice />
        </Form>
      ) : (
        <KeyHandover workerId={workerId} privateKey={made.privateKey} onDone={onClose} />
      )}
    </Dialog>
  )
}
