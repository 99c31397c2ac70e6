// The list of tasks: only the cards in sight are drawn, and none moves unless the person asks for it.
import type { DeskTask } from '@reeve/sdk'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useEffect, useEffectEvent, useRef } from 'react'
import { plural } from '../../../clock/format.ts'
import { Button } from '../../../parts/controls/button.tsx'
import { Empty } from '../../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../../parts/feedback/error-box.tsx'
import { Skeleton } from '../../../parts/feedback/skeleton.tsx'
import { TaskCard } from './task-card.tsx'
import type { Queue } from './use-queue.ts'

const CARD_PX = 84
const OVERSCAN = 8
const NEAR_END_ROWS = 15

interface TaskListProps {
  queue: Queue
  me: string
  /** The card that Enter opens. */
  chosen: string | null
  /** The task in the workspace. */
  open: string | null
  onOpen(task: DeskTask): void
  isFiltered: boolean
}

export function TaskList({ queue, me, chosen, open, onOpen, isFiltered }: TaskListProps) {
  const { rows, fresh, isLoaded, error } = queue
  const scroller = useRef<HTMLUListElement>(null)
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => CARD_PX,
    overscan: OVERSCAN,
    getItemKey: (index) => rows[index]?.uuid ?? index,
  })
  const isNearEnd = (virtual.getVirtualItems().at(-1)?.index ?? 0) >= rows.length - NEAR_END_ROWS
  const { after, loadMore } = queue
  useEffect(() => {
    if (isNearEnd && after !== null) loadMore()
  }, [isNearEnd, after, loadMore])
  const showChosen = useEffectEvent(() => {
    const at = rows.findIndex(({ uuid }) => uuid === chosen)
    if (at >= 0) virtual.scrollToIndex(at)
  })
  useEffect(() => showChosen(), [chosen, isLoaded])
  // Whoever asks for the new tasks wants to see them: the most urgent are at the top.
  const { tidyings } = queue
  useEffect(() => {
    if (tidyings > 0) virtual.scrollToIndex(0)
  }, [tidyings, virtual])

  return (
    <>
      {error !== null && <ErrorBox title="The tasks could not be loaded" error={error} onRetry={queue.reload} />}
      {!isLoaded && error === null && <Skeleton lines={8} className="py-2" />}
      {isLoaded && rows.length === 0 && (
        <Empty title={isFiltered ? 'No task matches' : 'Nothing waits'}>
          {isFiltered ? 'Take a word out of the search.' : 'New tasks appear here by themselves.'}
        </Empty>
      )}
      <ul ref={scroller} aria-label="Tasks" className="relative min-h-0 flex-1 overflow-y-auto overscroll-contain">
        <li aria-hidden="true" style={{ height: virtual.getTotalSize() }} className="list-none">
          {/* The cards are placed over this one, which gives the list its height. */}
        </li>
        {virtual.getVirtualItems().map(({ index, key, start }) => {
          const task = rows[index]
          if (task === undefined) return null
          return (
            <li
              key={key}
              className="absolute inset-x-0 top-0"
              style={{ transform: `translateY(${start}px)`, height: CARD_PX }}
            >
              <TaskCard
                task={task}
                me={me}
                isChosen={task.uuid === chosen}
                isOpen={task.uuid === open}
                onOpen={() => onOpen(task)}
              />
            </li>
          )
        })}
      </ul>
      {/* Below the list: nothing in it moves when something is new. */}
      {fresh.length > 0 && (
        <Button look="main" className="mt-2 w-full" onClick={queue.tidy}>
          Show {plural(fresh.length, 'new task')}
        </Button>
      )}
    </>
  )
}
