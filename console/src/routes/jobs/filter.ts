// The words of the search of jobs, and the filter that they are.
import type { JobFilter, JobState } from '@reeve/sdk'
import { parseWords } from '../../parts/controls/words.ts'
import { isolated } from '../../parts/text/isolated.ts'

export const STATES: readonly JobState[] = ['pending', 'processing', 'done', 'dead']

/** The words that people see, and the states of the wire. */
const STATE_WORDS: Readonly<Record<string, JobState>> = {
  waiting: 'pending',
  pending: 'pending',
  running: 'processing',
  processing: 'processing',
  done: 'done',
  dead: 'dead',
}

export const wordOf: Readonly<Record<JobState, string>> = {
  pending: 'waiting',
  processing: 'running',
  done: 'done',
  dead: 'dead',
}

export const WORDS = ['state', 'kind', 'reason', 'worker', 'account', 'trace', 'priority', 'delayed', 'after', 'before']

export interface ParsedFilter {
  filter: JobFilter
  /** What could not be read, for the person who typed it. */
  problem: string | null
}

export function filterOf(text: string): ParsedFilter {
  const { named, text: rest } = parseWords(text, WORDS)
  const problems: string[] = []
  const filter: JobFilter = {}
  const reason = named['reason'] ?? (rest === '' ? undefined : rest)
  if (named['kind'] !== undefined) filter.kind = named['kind']
  if (named['worker'] !== undefined) filter.owner = named['worker']
  if (named['trace'] !== undefined) filter.trace_id = named['trace']
  if (reason !== undefined) filter.reason = reason
  if (named['delayed'] !== undefined) filter.delayed = named['delayed'] !== 'no'
  readState(named['state'], filter, problems)
  readNumber(named['account'], 'account', (value) => (filter.account_id = value), problems)
  readNumber(named['priority'], 'priority', (value) => (filter.priority = value), problems)
  readMoment(named['after'], 'after', (value) => (filter.submitted_after = value), problems)
  readMoment(named['before'], 'before', (value) => (filter.submitted_before = value), problems)
  return { filter, problem: problems[0] ?? null }
}

function readState(text: string | undefined, filter: JobFilter, problems: string[]): void {
  if (text === undefined) return
  const state = STATE_WORDS[text.toLowerCase()]
  if (state === undefined) problems.push(`state: is waiting, running, done or dead, not “${isolated(text)}”.`)
  else filter.state = state
}

function readNumber(text: string | undefined, name: string, set: (value: number) => void, problems: string[]): void {
  if (text === undefined) return
  if (/^\d{1,15}$/.test(text)) set(Number(text))
  else problems.push(`${name}: is a number, not “${isolated(text)}”.`)
}

const AGO = /^(\d+)(s|m|h|d)$/
const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** 2h (two hours ago), 2026-01-31, 2026-01-31T10:00. */
function readMoment(text: string | undefined, name: string, set: (value: string) => void, problems: string[]): void {
  if (text === undefined) return
  const [, count, unit = ''] = AGO.exec(text) ?? []
  // To the minute: the same words are the same filter for a while.
  const now = Math.floor(Date.now() / 60_000) * 60_000
  const ms = count === undefined ? Date.parse(text) : now - Number(count) * (UNIT_MS[unit] ?? 0)
  if (Number.isNaN(ms)) problems.push(`${name}: is a time such as 2h, 3d or 2026-01-31T10:00, not “${isolated(text)}”.`)
  else set(new Date(ms).toISOString())
}
