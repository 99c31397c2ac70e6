// What is done to the rows that are chosen, or to all that match: with the count first, and the progress after.
import type { BulkProgress, JobFilter } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { number, plural } from '../../clock/format.ts'
import { Button } from '../../parts/controls/button.tsx'
import { Confirm } from '../../parts/feedback/confirm.tsx'
import { notify } from '../../parts/feedback/notify.ts'
import type { TableSelection } from '../../parts/data/table-selection.ts'
import { client, queries } from '../../session/client.ts'

type Action = 'replay' | 'cancel'
const WORD: Readonly<Record<Action, string>> = { replay: 'Replay', cancel: 'Cancel' }
const AT_ONCE = 20

interface BulkProps {
  selection: TableSelection
  filter: JobFilter
  loaded: number
  hasMore: boolean
}

export function Bulk({ selection, filter, loaded, hasMore }: BulkProps) {
  const [asked, setAsked] = useState<Action | null>(null)
  const [progress, setProgress] = useState<BulkProgress | null>(null)
  const count = useQuery({
    queryKey: ['jobs', 'count', filter],
    queryFn: () => client.jobs.count(filter),
    enabled: selection.isAll,
    staleTime: 0,
  })
  if (selection.keys.size === 0 && !selection.isAll) return null

  const total = selection.isAll ? countText(count.data) : number(selection.keys.size)
  const jobs = total === '1' ? 'job' : 'jobs'
  const run = (action: Action) => runBulk({ action, selection, filter, show: setProgress })
  return (
    <div
      role="region"
      aria-label="Chosen jobs"
      className="mb-3 flex flex-wrap items-center gap-3 rounded-md bg-accent-soft px-3 py-2"
    >
      <span className="font-medium">{selection.isAll ? `All ${total} that match` : `${total} chosen`}</span>
      {!selection.isAll && hasMore && selection.keys.size >= loaded && (
        <Button look="bare" onClick={selection.chooseAll}>
          Choose all that match
        </Button>
      )}
      <span className="ml-auto flex gap-2">
        <Button icon="replay" onClick={() => setAsked('replay')}>
          Replay
        </Button>
        <Button icon="cross" onClick={() => setAsked('cancel')}>
          Cancel
        </Button>
        <Button look="bare" onClick={selection.clear}>
          Choose none
        </Button>
      </span>
      {asked !== null && (
        <Confirm
          isOpen
          onClose={() => setAsked(null)}
          title={`${WORD[asked]} ${total} ${jobs}?`}
          action={`${WORD[asked]} ${total} ${jobs}`}
          isDangerous={asked === 'cancel'}
          onConfirm={() => run(asked)}
        >
          {asked === 'replay'
            ? 'Each dead job is submitted again as a new one that names it. Jobs that are not dead are left as they are.'
            : 'Each job that has not ended ends as dead. What runs is stopped, and its result is refused.'}
          {progress !== null && (
            <p role="status" className="mt-3 font-medium">
              {number(progress.done)} done{progress.refused > 0 ? `, ${number(progress.refused)} left as they are` : ''}
              …
            </p>
          )}
        </Confirm>
      )}
    </div>
  )
}

interface Run {
  action: Action
  selection: TableSelection
  filter: JobFilter
  show: (progress: BulkProgress | null) => void
}

async function runBulk({ action, selection, filter, show }: Run): Promise<void> {
  show({ done: 0, refused: 0 })
  try {
    const { done, refused } = selection.isAll
      ? await client.jobs.bulk(action, filter, { onProgress: show })
      : await runChosen(action, [...selection.keys], show)
    const detail = refused === 0 ? {} : { detail: `${plural(refused, 'job')} had ended or cannot be replayed.` }
    notify({ title: `${action === 'replay' ? 'Replayed' : 'Cancelled'} ${plural(done, 'job')}`, ...detail })
    selection.clear()
    await queries.resetQueries({ queryKey: ['jobs', 'list'] })
  } finally {
    show(null)
  }
}

const countText = (counted: { count: number; exact: boolean } | undefined): string =>
  counted === undefined ? '…' : `${number(counted.count)}${counted.exact ? '' : '+'}`

async function runChosen(
  action: Action,
  jobIds: readonly string[],
  show: (progress: BulkProgress) => void,
): Promise<BulkProgress> {
  const progress = { done: 0, refused: 0 }
  for (let at = 0; at < jobIds.length; at += AT_ONCE) {
    const some = jobIds.slice(at, at + AT_ONCE)
    const answers = await Promise.allSettled(
      some.map((jobId) => (action === 'replay' ? client.jobs.replay(jobId) : client.jobs.cancel(jobId))),
    )
    progress.done += answers.filter(({ status }) => status === 'fulfilled').length
    progress.refused += answers.filter(({ status }) => status === 'rejected').length
    show({ ...progress })
  }
  return progress
}
