// Open tasks with who works on them. Some, or all that match, are given back, given to somebody or withdrawn at once.
import type { DeskTask } from '@reeve/sdk'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { plural } from '../../../clock/format.ts'
import { Button } from '../../../parts/controls/button.tsx'
import { Icon } from '../../../parts/icon.tsx'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { Search } from '../../../parts/controls/search.tsx'
import { StateBadge } from '../../../parts/data/state-badge.tsx'
import { Table, type Column } from '../../../parts/data/table.tsx'
import { useSelection } from '../../../parts/data/table-selection.ts'
import { Countdown, Duration } from '../../../parts/data/time.tsx'
import { WORDS } from '../queue/filter.ts'
import { useQueue } from '../queue/use-queue.ts'
import { placeOf, taskState, urgency } from '../task-words.ts'
import { BulkAction, type Bulk } from './bulk-action.tsx'

export function OpenTasks() {
  const [query, setQuery] = useState('')
  const queue = useQueue({ query, onArrival: () => {}, onChange: () => {} })
  const selection = useSelection()
  const [bulk, setBulk] = useState<Bulk | null>(null)
  const navigate = useNavigate()
  const count = selection.isAll ? null : selection.keys.size
  const isAny = count === null || count > 0
  return (
    <div>
      <div className="mb-2 flex flex-wrap items-center gap-2">
        <Search label="Search the open tasks" value={query} words={WORDS} onChange={setQuery} />
        {queue.fresh.length > 0 && <Button onClick={queue.tidy}>Show {plural(queue.fresh.length, 'new task')}</Button>}
      </div>
      {isAny && (
        <div role="toolbar" aria-label="With the chosen tasks" className="mb-2 flex flex-wrap items-center gap-2">
          <span>{count === null ? 'All that match' : `${plural(count, 'task')} chosen`}</span>
          {count !== null && queue.after !== null && (
            <Button look="bare" onClick={selection.chooseAll}>
              Choose all that match
            </Button>
          )}
          <Button onClick={() => setBulk('reassign')}>Give to…</Button>
          <Button onClick={() => setBulk('release')}>Take back into the queue</Button>
          <Button look="danger" onClick={() => setBulk('withdraw')}>
            Withdraw
          </Button>
          <Button look="bare" onClick={selection.clear}>
            Choose none
          </Button>
        </div>
      )}
      {queue.error !== null && (
        <ErrorBox title="The tasks could not be loaded" error={queue.error} onRetry={queue.reload} />
      )}
      <Table<DeskTask>
        label="Open tasks"
        rowsMax={10}
        rows={queue.rows}
        columns={COLUMNS}
        rowKey={({ uuid }) => uuid}
        selection={selection}
        isLoading={!queue.isLoaded}
        hasMore={queue.after !== null}
        onEnd={queue.loadMore}
        onOpen={({ uuid }) => void navigate({ to: '/console/desk', search: { task: uuid } })}
        empty={
          <Empty title="No open task">{query === '' ? 'Nothing waits, and nobody works.' : 'None matches.'}</Empty>
        }
      />
      <BulkAction
        bulk={bulk}
        query={query}
        uuids={selection.isAll ? null : [...selection.keys]}
        onClose={() => setBulk(null)}
        onDone={() => {
          selection.clear()
          queue.reload()
        }}
      />
    </div>
  )
}

const COLUMNS: readonly Column<DeskTask>[] = [
  { head: 'State', width: 'minmax(96px, 148px)', cell: (task) => <StateBadge {...taskState(task, '')} /> },
  { head: 'Domain', width: 'minmax(96px, 1.2fr)', cell: ({ domain }) => <span dir="auto">{domain}</span> },
  {
    head: 'Page',
    width: 'minmax(120px, 2fr)',
    wideOnly: true,
    cell: (task) => <span dir="auto">{placeOf(task)}</span>,
  },
  {
    head: 'Urgency',
    width: '104px',
    roomyOnly: true,
    cell: ({ priority }) => `${urgency(priority).word} ${priority}`,
  },
  {
    head: 'Age',
    width: '104px',
    cell: ({ created_at: at, overdue_at: overdue }) => (
      <span className={overdue === null ? '' : 'text-warn-fg'}>
        <Duration from={at} /> {overdue !== null && <Overdue />}
      </span>
    ),
  },
  {
    head: 'Lock',
    width: '80px',
    wideOnly: true,
    align: 'right',
    cell: ({ locked_until: until }) => (until === null ? '–' : <Countdown until={until} over="over" />),
  },
]

/** An icon and a word that is heard: beside the age there is no room for it. */
const Overdue = () => (
  <span title="Overdue">
    <Icon name="warn" className="inline size-3.5" />
    <span className="sr-only">overdue</span>
  </span>
)
