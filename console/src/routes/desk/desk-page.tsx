// Where operators work: the list, the task, the form. The whole loop works without a mouse.
import type { DeskTask } from '@reeve/sdk'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { number, plural } from '../../clock/format.ts'
import { useKeys } from '../../frame/keys.ts'
import { Page } from '../../frame/page.tsx'
import { buttonClass, Button } from '../../parts/controls/button.tsx'
import { classes } from '../../parts/classes.ts'
import { Empty } from '../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../parts/feedback/error-box.tsx'
import { Search } from '../../parts/controls/search.tsx'
import { Skeleton } from '../../parts/feedback/skeleton.tsx'
import { useSession } from '../../session/session.tsx'
import { useAlerts, type Alerts } from './alerts.ts'
import { useFigures } from './desk-count.tsx'
import { WORDS } from './queue/filter.ts'
import { isOver } from './queue/queue-state.ts'
import { TaskList } from './queue/task-list.tsx'
import { useQueue, type Queue } from './queue/use-queue.ts'
import { deskRoute } from './routes.ts'
import { noteTask, useTask, useWork, type Work } from './work/use-work.ts'
import { Workspace } from './work/workspace.tsx'

export function DeskPage() {
  const { q = '', task: uuid } = deskRoute.useSearch()
  const { me, has } = useSession()
  const name = me?.username ?? ''
  const isOperator = has('OPERATOR')
  const navigate = useNavigate({ from: '/console/desk' })
  const alerts = useAlerts()
  const queue = useQueue({ query: q, onArrival: alerts.tell, onChange: noteTask })
  const work = useWork({ queue, me: name, isOperator })
  const [chosen, setChosen] = useState<string | null>(null)
  useListKeys({ queue, work, chosen, setChosen })
  const { data: figures } = useFigures()
  const waiting = figures?.waiting ?? 0

  return (
    <Page
      title="Desk"
      tabTitle={waiting > 0 ? `(${number(waiting)}) Desk` : 'Desk'}
      fills
      aside={figures !== undefined && <span className="text-quiet">{plural(figures.waiting, 'task')} waiting</span>}
      actions={<Actions alerts={alerts} isAdmin={has('ADMIN')} />}
    >
      <div className="flex min-h-0 flex-1 gap-4 pb-4">
        <section
          aria-label="Queue"
          className={classes(
            'flex min-h-0 w-full shrink-0 flex-col sm:w-64 xl:w-72 2xl:w-80',
            uuid !== undefined && 'max-sm:hidden',
          )}
        >
          <div className="mb-2 flex">
            <Search
              label="Search the tasks"
              value={q}
              words={WORDS}
              placeholder="Search, or domain: state: age:"
              onChange={(next) =>
                void navigate({
                  search: ({ q: _old, ...rest }) => ({ ...rest, ...(next === '' ? {} : { q: next }) }),
                  replace: true,
                })
              }
            />
          </div>
          <TaskList
            queue={queue}
            me={name}
            chosen={chosen}
            open={uuid ?? null}
            isFiltered={q !== ''}
            onOpen={(one: DeskTask) => {
              setChosen(one.uuid)
              void work.take(one)
            }}
          />
        </section>
        <div
          className={classes(
            'flex min-h-0 min-w-0 flex-1 gap-4 border-line max-lg:flex-col max-lg:overflow-y-auto sm:border-l sm:pl-4',
            uuid === undefined && 'max-sm:hidden',
          )}
        >
          <Opened uuid={uuid} me={name} isOperator={isOperator} work={work} />
        </div>
      </div>
    </Page>
  )
}

interface OpenedProps {
  uuid: string | undefined
  me: string
  isOperator: boolean
  work: Work
}

function Opened({ uuid, me, isOperator, work }: OpenedProps) {
  const task = useTask(uuid)
  if (uuid === undefined) return <NothingOpen isOperator={isOperator} />
  if (task.data !== undefined) return <Workspace task={task.data} me={me} isOperator={isOperator} work={work} />
  if (task.isPending) return <Skeleton lines={8} className="flex-1" />
  return <ErrorBox title="The task could not be opened" error={task.error} onRetry={() => void task.refetch()} />
}

interface ListKeys {
  queue: Queue
  work: Work
  chosen: string | null
  setChosen(uuid: string | null): void
}

function useListKeys({ queue, work, chosen, setChosen }: ListKeys): void {
  const move = (by: number) => {
    const open = queue.rows.filter((row) => !isOver(row))
    const at = open.findIndex(({ uuid }) => uuid === chosen)
    const next = open[at < 0 ? 0 : Math.max(0, Math.min(open.length - 1, at + by))]
    if (next !== undefined) setChosen(next.uuid)
  }
  const claim = () => {
    const task = queue.rows.find(({ uuid }) => uuid === chosen)
    if (task !== undefined) void work.take(task)
  }
  useKeys({
    j: { about: 'The next task in the list', run: () => move(1) },
    k: { about: 'The one before', run: () => move(-1) },
    Enter: { about: 'Claim the chosen task', run: claim },
    n: { about: 'Show the new tasks in their place', run: queue.tidy },
  })
}

function NothingOpen({ isOperator }: { isOperator: boolean }) {
  return (
    <div className="m-auto">
      <Empty title="No task is open">
        {isOperator
          ? 'Choose one in the list, or with J and K, and claim it with Enter. ? lists all keys.'
          : 'Choose one in the list to look at it. Only operators claim tasks.'}
      </Empty>
    </div>
  )
}

function Actions({ alerts, isAdmin }: { alerts: Alerts; isAdmin: boolean }) {
  return (
    <>
      <Button look="bare" aria-pressed={alerts.hasSound} onClick={alerts.toggleSound} className="max-sm:hidden">
        Sound {alerts.hasSound ? 'on' : 'off'}
      </Button>
      <Button
        look="bare"
        aria-pressed={alerts.hasNotices}
        onClick={() => void alerts.toggleNotices()}
        className="max-sm:hidden"
      >
        Notifications {alerts.hasNotices ? 'on' : 'off'}
      </Button>
      <Link to="/console/desk/history" className={buttonClass('plain')}>
        My work
      </Link>
      {isAdmin && (
        <Link to="/console/desk/supervise" className={buttonClass('plain')}>
          Supervise
        </Link>
      )}
    </>
  )
}
