// One thing done to many tasks: it says to how many first, shows how far it is, and names what was refused.
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { plural } from '../../../clock/format.ts'
import { Confirm } from '../../../parts/feedback/confirm.tsx'
import { inputClass } from '../../../parts/controls/form.tsx'
import { notify } from '../../../parts/feedback/notify.ts'
import { client } from '../../../session/client.ts'
import { filterOf } from '../queue/filter.ts'

export type Bulk = 'reassign' | 'release' | 'withdraw'

const AT_ONCE = 4
const PAGE_ROWS = 100

const WORDS: Readonly<Record<Bulk, { verb: string; done: string }>> = {
  reassign: { verb: 'Give', done: 'given' },
  release: { verb: 'Take back', done: 'taken back' },
  withdraw: { verb: 'Withdraw', done: 'withdrawn' },
}

interface BulkActionProps {
  bulk: Bulk | null
  query: string
  /** Null: all that match the query. */
  uuids: readonly string[] | null
  onClose(): void
  onDone(): void
}

export function BulkAction({ bulk, query, uuids, onClose, onDone }: BulkActionProps) {
  const [operator, setOperator] = useState('')
  const [done, setDone] = useState<number | null>(null)
  const matching = useQuery({
    queryKey: ['desk', 'count', query, bulk],
    queryFn: async () => (await client.desk.list({ ...filterOf(query), limit: 1 })).total,
    enabled: bulk !== null && uuids === null,
    gcTime: 0,
  })
  const count = uuids?.length ?? matching.data ?? 0
  const { verb, done: participle } = WORDS[bulk ?? 'release']

  const run = async () => {
    if (bulk === 'reassign' && operator.trim() === '') throw new Error('Name the operator who gets them.')
    const all = uuids ?? (await allUuids(query))
    const refused: string[] = []
    let finished = 0
    await inParallel(all, async (uuid) => {
      await once(bulk, uuid, operator.trim()).catch((error: unknown) => {
        refused.push(error instanceof Error ? error.message : String(error))
      })
      finished += 1
      setDone(finished)
    })
    setDone(null)
    onDone()
    notify({
      title: `${plural(all.length - refused.length, 'task')} ${participle}`,
      ...(refused.length === 0 ? {} : { tone: 'warn', detail: `${refused.length} refused: ${refused[0]}` }),
    })
  }
  return (
    <Confirm
      isOpen={bulk !== null}
      onClose={onClose}
      title={`${verb} ${plural(count, 'task')}?`}
      action={`${verb} ${plural(count, 'task')}`}
      isDangerous={bulk === 'withdraw'}
      onConfirm={run}
    >
      {bulk === 'reassign' && (
        <label className="flex flex-col gap-1">
          <span className="font-medium">Operator</span>
          <input
            className={inputClass}
            autoComplete="off"
            value={operator}
            onChange={({ currentTarget }) => setOperator(currentTarget.value)}
          />
        </label>
      )}
      {bulk === 'release' && <p>Who works on them loses their lock, and they wait again.</p>}
      {bulk === 'withdraw' && <p>They end without a solution, and the programs that asked are told so.</p>}
      {done !== null && (
        <p role="status" className="mt-3 text-quiet">
          {done} of {count}
        </p>
      )}
    </Confirm>
  )
}

async function once(bulk: Bulk | null, uuid: string, operator: string): Promise<void> {
  if (bulk === 'reassign') await client.desk.reassign(uuid, operator)
  else if (bulk === 'release') await client.desk.release(uuid)
  else if (bulk === 'withdraw') await client.jobs.cancel(uuid, 'Withdrawn by a supervisor.')
}

async function allUuids(query: string): Promise<string[]> {
  const found: string[] = []
  let after: string | null = null
  do {
    const page = await client.desk.list({ ...filterOf(query), limit: PAGE_ROWS, ...(after === null ? {} : { after }) })
    found.push(...page.tasks.map(({ uuid }) => uuid))
    after = page.next_after
  } while (after !== null)
  return found
}

async function inParallel(items: readonly string[], work: (item: string) => Promise<void>): Promise<void> {
  const left = [...items]
  const lane = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await work(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
}
