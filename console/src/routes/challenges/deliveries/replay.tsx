// Sending dead letters again: one, or all that were queued since a time.
import type { Delivery } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { plural } from '../../../clock/format.ts'
import { Button } from '../../../parts/controls/button.tsx'
import { Confirm } from '../../../parts/feedback/confirm.tsx'
import { inputClass } from '../../../parts/controls/form.tsx'
import { notify } from '../../../parts/feedback/notify.ts'
import { client, queries } from '../../../session/client.ts'
import { messageOf } from '../../../session/errors.ts'

const COUNTED_MAX = 200

export function ReplayButton({ delivery: { delivery_id: id } }: { delivery: Pick<Delivery, 'delivery_id'> }) {
  const [isBusy, setBusy] = useState(false)
  const replay = async () => {
    setBusy(true)
    try {
      await client.deliveries.replay(id)
      notify({ title: 'On its way again', detail: 'With the same body and request id.' })
      await queries.invalidateQueries({ queryKey: ['deliveries', 'delivery', id] })
    } catch (error) {
      notify({ title: 'It could not be replayed', detail: messageOf(error), tone: 'bad' })
    } finally {
      setBusy(false)
    }
  }
  return (
    <Button look="main" icon="replay" isBusy={isBusy} onClick={() => void replay()}>
      Replay
    </Button>
  )
}

export function ReplayAll() {
  const [isOpen, setOpen] = useState(false)
  const [since, setSince] = useState('')
  const time = timeOf(since)
  const count = useDeadSince(time, isOpen)
  const many = count === null ? 'dead letters' : plural(count, 'dead letter')
  const named = count === COUNTED_MAX ? `${COUNTED_MAX} or more dead letters` : many
  return (
    <>
      <Button icon="replay" onClick={() => setOpen(true)}>
        Replay all
      </Button>
      <Confirm
        isOpen={isOpen}
        onClose={() => setOpen(false)}
        title={`Replay ${named}?`}
        action={`Replay ${named}`}
        onConfirm={async () => {
          const { replayed } = await client.deliveries.replayAll(time === null ? {} : { since: time })
          notify({ title: `Replayed ${plural(replayed.length, 'dead letter')}` })
          await queries.invalidateQueries({ queryKey: ['deliveries', 'list'] })
        }}
      >
        <label className="flex flex-col gap-1">
          <span className="font-medium">Queued since</span>
          <input
            type="datetime-local"
            value={since}
            onChange={({ currentTarget }) => setSince(currentTarget.value)}
            className={inputClass}
          />
          <span className="text-small text-quiet">In your time. Empty: all of them.</span>
        </label>
        <p className="mt-3 text-quiet">
          Each is sent with the same body and request id, so that a receiver that has it already knows it again.
        </p>
      </Confirm>
    </>
  )
}

/** Null: not known yet. */
function useDeadSince(since: string | null, isWanted: boolean): number | null {
  const dead = useQuery({
    queryKey: ['deliveries', 'dead'],
    queryFn: () => client.deliveries.list({ status: 'dead', limit: COUNTED_MAX }),
    enabled: isWanted,
    staleTime: 0,
  })
  if (dead.data === undefined) return null
  return dead.data.filter(({ created_at: at }) => since === null || Date.parse(at) >= Date.parse(since)).length
}

/** What a field of a date and time holds, as the server takes it. */
function timeOf(local: string): string | null {
  const ms = Date.parse(local)
  return Number.isNaN(ms) ? null : new Date(ms).toISOString()
}
