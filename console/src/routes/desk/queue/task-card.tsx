import type { DeskTask } from '@reeve/sdk'
import { memo } from 'react'
import { classes } from '../../../parts/classes.ts'
import { Icon } from '../../../parts/icon.tsx'
import { StateBadge, TONE_CLASS } from '../../../parts/data/state-badge.tsx'
import { Duration } from '../../../parts/data/time.tsx'
import { placeOf, taskState, urgency } from '../task-words.ts'
import { isOver, isWaiting } from './queue-state.ts'

interface TaskCardProps {
  task: DeskTask
  me: string
  isChosen: boolean
  isOpen: boolean
  onOpen(): void
}

/** Drawn again only when its task has changed: a click is never lost to a list that is being rebuilt. */
export const TaskCard = memo(Card, (before, after) => {
  return (
    before.task === after.task &&
    before.me === after.me &&
    before.isChosen === after.isChosen &&
    before.isOpen === after.isOpen
  )
})

function Card({ task, me, isChosen, isOpen, onOpen }: TaskCardProps) {
  const { tone, word } = urgency(task.priority)
  return (
    <button
      type="button"
      data-uuid={task.uuid}
      aria-current={isOpen ? 'true' : undefined}
      onClick={onOpen}
      className={classes(
        'flex h-full w-full items-start gap-2 overflow-hidden border-b border-line py-2 pr-2 text-left hover:bg-raised',
        isOpen && 'bg-accent-soft',
        isChosen && 'outline-2 -outline-offset-2 outline-accent',
        isOver(task) && 'opacity-70',
      )}
    >
      <span aria-hidden="true" className={`h-full w-1 shrink-0 rounded-full ${TONE_CLASS[tone]} !bg-current`} />
      <span className="min-w-0 flex-1">
        <span className="flex items-center gap-2">
          <span className="min-w-0 flex-1 truncate font-medium" dir="auto">
            {task.domain}
          </span>
          <span className="text-small whitespace-nowrap text-quiet">
            <Duration from={task.created_at} to={isOver(task) ? task.updated_at : null} />
          </span>
        </span>
        <span className="block truncate text-quiet" dir="auto">
          {placeOf(task)}
        </span>
        <span className="mt-0.5 flex items-center gap-1.5 overflow-hidden">
          <StateBadge {...taskState(task, me)} />
          {task.overdue_at !== null && <StateBadge tone="warn" word="Overdue" />}
          {tone !== 'quiet' && <span className="text-small whitespace-nowrap text-quiet">{word}</span>}
          {task.attempts > 0 && (
            <span className="inline-flex items-center gap-0.5 text-small whitespace-nowrap text-quiet">
              <Icon name="replay" className="size-3" />
              asked {task.attempts + 1} times
            </span>
          )}
        </span>
      </span>
      {task.preview_path !== null && isWaiting(task) && (
        <img
          src={task.preview_path}
          alt=""
          loading="lazy"
          className="size-12 shrink-0 rounded-sm border border-line object-cover"
        />
      )}
    </button>
  )
}
