// How a task is named: its state, its place on its site, its urgency.
import type { DeskTask, TaskStatus } from '@reeve/sdk'
import type { Stated, Tone } from '../../parts/data/state-badge.tsx'
import { isolated } from '../../parts/text/isolated.ts'

const STATES: Readonly<Record<TaskStatus, Stated>> = {
  pending: { tone: 'quiet', word: 'Waiting' },
  in_progress: { tone: 'active', word: 'Claimed' },
  solving: { tone: 'active', word: 'Being solved' },
  failed: { tone: 'warn', word: 'Waiting again' },
  solved: { tone: 'good', word: 'Solved' },
  expired: { tone: 'quiet', word: 'Expired' },
  unsolvable: { tone: 'bad', word: 'Unsolvable' },
}

/** Claimed, by whom: "Yours" where it is one's own. */
export function taskState({ status, assigned_to: operator }: DeskTask, me: string): Stated {
  const { tone, word } = STATES[status]
  if (tone !== 'active' || operator === null) return { tone, word }
  return { tone, word: operator === me ? 'Yours' : `${word} by ${isolated(operator)}` }
}

/** Path and query of its page; a question without a page is named by its question. */
export function placeOf({ url, form }: DeskTask): string {
  if (form !== null) return form.question.split('\n', 1)[0] ?? ''
  const { pathname, search } = new URL(url)
  return `${pathname}${search}`
}

/** A question that has no page of its own is stored under this name. */
const NO_PAGE_DOMAIN = 'question.example'

export const hasPage = ({ domain }: DeskTask): boolean => domain !== NO_PAGE_DOMAIN

export function urgency(priority: number): { tone: Tone; word: string } {
  if (priority >= 8) return { tone: 'bad', word: 'Urgent' }
  return priority >= 6 ? { tone: 'warn', word: 'Soon' } : { tone: 'quiet', word: 'Normal' }
}
