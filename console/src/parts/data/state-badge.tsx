// The state of anything, with the same colour, icon and word on every page.
import type { JobState } from '@reeve/sdk'
import { Icon, type IconName } from '../icon.tsx'

export type Tone = 'quiet' | 'active' | 'good' | 'warn' | 'bad'

export const TONE_CLASS: Readonly<Record<Tone, string>> = {
  quiet: 'bg-quiet-bg text-quiet-fg',
  active: 'bg-active-bg text-active-fg',
  good: 'bg-good-bg text-good-fg',
  warn: 'bg-warn-bg text-warn-fg',
  bad: 'bg-bad-bg text-bad-fg',
}

const TONE_ICON: Readonly<Record<Tone, IconName>> = {
  quiet: 'wait',
  active: 'run',
  good: 'check',
  warn: 'warn',
  bad: 'cross',
}

export interface Stated {
  tone: Tone
  word: string
}

export function StateBadge({ tone, word, icon }: Stated & { icon?: IconName }) {
  return (
    <span
      className={`inline-flex items-center gap-1 rounded-full px-2 align-middle py-0.5 text-small font-medium whitespace-nowrap ${TONE_CLASS[tone]}`}
    >
      <Icon name={icon ?? TONE_ICON[tone]} className="size-3" />
      {word}
    </span>
  )
}

export const JOB_STATES: Readonly<Record<JobState, Stated>> = {
  pending: { tone: 'quiet', word: 'Waiting' },
  processing: { tone: 'active', word: 'Running' },
  done: { tone: 'good', word: 'Done' },
  dead: { tone: 'bad', word: 'Dead' },
}

interface StatedJob {
  state: JobState
  attempt_id: number
  due_at: string | null
}

/** A job that waits for its next attempt is retrying; one that waits for its time is scheduled. */
export function jobState({ state, attempt_id: attempts, due_at: dueAt }: StatedJob): Stated {
  if (state !== 'pending') return JOB_STATES[state]
  if (attempts > 0) return { tone: 'warn', word: 'Retrying' }
  return dueAt === null ? JOB_STATES.pending : { tone: 'quiet', word: 'Scheduled' }
}
