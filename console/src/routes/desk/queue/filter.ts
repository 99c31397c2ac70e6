// The words of the list's search, and what they ask for.
import type { DeskTask, ListDeskTasks, TaskStatus } from '@reeve/sdk'
import { parseWords } from '../../../parts/controls/words.ts'
import type { SearchWord } from '../../../parts/controls/search.tsx'

const STATES: Readonly<Record<string, TaskStatus>> = {
  waiting: 'pending',
  claimed: 'in_progress',
  retry: 'failed',
  solved: 'solved',
  unsolvable: 'unsolvable',
  expired: 'expired',
}

export const WORDS: readonly SearchWord[] = [
  { name: 'domain', about: 'Tasks of one domain' },
  { name: 'state', about: 'What has become of it', values: Object.keys(STATES) },
  { name: 'operator', about: 'Who works on it' },
  { name: 'priority', about: 'This or more urgent, 1 to 10', values: ['10', '8', '5', '3'] },
  { name: 'overdue', about: 'Waiting or held for too long', values: ['yes'] },
  { name: 'age', about: 'At least so old: 5m, 2h, 1d', values: ['5m', '15m', '1h', '1d'] },
]

const UNITS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

export function filterOf(query: string): ListDeskTasks {
  const { named, text } = parseWords(
    query,
    WORDS.map(({ name }) => name),
  )
  const status = STATES[named['state'] ?? '']
  const olderThan = ageOf(named['age'])
  const priority = Number(named['priority'])
  return {
    ...(status === undefined ? { open: true } : { status }),
    ...(named['domain'] === undefined ? {} : { domain: named['domain'] }),
    ...(named['operator'] === undefined ? {} : { assigned_to: named['operator'] }),
    ...(priority >= 1 && priority <= 10 ? { min_priority: Math.floor(priority) } : {}),
    ...(named['overdue'] === 'yes' ? { overdue: true as const } : {}),
    ...(olderThan === null ? {} : { older_than: olderThan }),
    ...(text === '' ? {} : { q: text.slice(0, 200) }),
  }
}

function ageOf(text: string | undefined): number | null {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text ?? '') ?? []
  return count === undefined ? null : Number(count) * (UNITS[unit ?? ''] ?? 1)
}

/** Whether a task that comes later belongs to the list, as far as the page can tell; the server decides at the next load. */
export function matches(task: DeskTask, filter: ListDeskTasks): boolean {
  const { domain, assigned_to: operator, min_priority: priority, q, status, older_than: olderThan, overdue } = filter
  const ageSec = (Date.now() - Date.parse(task.created_at)) / 1000
  return (
    (status === undefined || task.status === status) &&
    (domain === undefined || task.domain === domain) &&
    (operator === undefined || task.assigned_to === operator) &&
    (priority === undefined || task.priority >= priority) &&
    (overdue === undefined || task.overdue_at !== null) &&
    (olderThan === undefined || ageSec >= olderThan) &&
    (q === undefined ||
      [task.url, task.error_message, task.request_id].join(' ').toLowerCase().includes(q.toLowerCase()))
  )
}
