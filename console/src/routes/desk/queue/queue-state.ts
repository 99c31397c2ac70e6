// The list of tasks, in an order that only the person changes: a row is updated where it is, and what is new waits until it is asked
// for, unless it belongs at the end.
import type { DeskTask } from '@reeve/sdk'

export interface QueueState {
  rows: readonly DeskTask[]
  /** New, or waiting again, and not in the list yet. */
  fresh: readonly DeskTask[]
  /** Where the next page begins; null: all are loaded. */
  after: string | null
  isLoaded: boolean
  /** How often the person asked for what is new. */
  tidyings: number
  /** Of tasks that changed while an answer was under way: it may be older. Null: none is. */
  heard: ReadonlyMap<string, HeardTask> | null
}

interface HeardTask {
  task: DeskTask
  /** Whether it is one of those that are searched for. */
  isMatch: boolean
}

export const EMPTY: QueueState = { rows: [], fresh: [], after: null, isLoaded: false, tidyings: 0, heard: null }

export type QueueAction =
  | { type: 'loading' }
  | { type: 'failed' }
  | { type: 'loaded'; tasks: readonly DeskTask[]; after: string | null; isFirst: boolean }
  | { type: 'changed'; task: DeskTask; isMatch: boolean }
  | { type: 'tidied' }

export function queueReducer(state: QueueState, action: QueueAction): QueueState {
  switch (action.type) {
    case 'loading':
      return { ...state, heard: new Map() }
    case 'failed':
      return { ...state, heard: null }
    case 'loaded':
      return loaded(state, action)
    case 'changed':
      return changed(state, action.task, action.isMatch)
    case 'tidied':
      return tidied(state)
  }
}

function loaded(
  state: QueueState,
  { tasks, after, isFirst }: { tasks: readonly DeskTask[]; after: string | null; isFirst: boolean },
): QueueState {
  const heard = [...(state.heard?.values() ?? [])].map(({ task }) => task)
  const known = new Map([...state.rows, ...state.fresh, ...heard].map((task) => [task.uuid, task]))
  const current = tasks.map((task) => newer(task, known.get(task.uuid)))
  const shown = new Set((isFirst ? [] : state.rows).map(({ uuid }) => uuid))
  const added = current.filter(({ uuid }) => !shown.has(uuid))
  const here = new Set(added.map(({ uuid }) => uuid))
  const others = [...(isFirst ? state.rows.filter(isWaiting) : []), ...state.fresh].filter(
    ({ uuid }) => !here.has(uuid),
  )
  // A task that came after the answer was written is not in it.
  const fresh = isFirst ? others.filter(({ uuid }) => state.heard?.get(uuid)?.isMatch === true) : others
  const rows = isFirst ? added : [...state.rows, ...added]
  return { ...state, rows, fresh, after, isLoaded: true, heard: null }
}

function changed(before: QueueState, task: DeskTask, isMatch: boolean): QueueState {
  const heard = before.heard === null ? null : new Map([...before.heard, [task.uuid, { task, isMatch }]])
  const state = heard === null ? before : { ...before, heard }
  const at = state.rows.findIndex(({ uuid }) => uuid === task.uuid)
  if (at >= 0) {
    const row = state.rows[at]
    if (row === undefined || newer(task, row) === row) return state
    return { ...state, rows: state.rows.with(at, task) }
  }
  const others = state.fresh.filter(({ uuid }) => uuid !== task.uuid)
  if (!isMatch || !isWaiting(task)) return others.length === state.fresh.length ? state : { ...state, fresh: others }
  const last = state.rows.at(-1)
  const isLast = state.isLoaded && state.after === null && (last === undefined || inOrder(last, task) < 0)
  if (isLast) return { ...state, rows: [...state.rows, task], fresh: others }
  return { ...state, fresh: [...others, task] }
}

/** What is new is put in its place, and what has ended is taken out. */
const tidied = (state: QueueState): QueueState => ({
  ...state,
  rows: [...state.rows.filter((task) => !isOver(task)), ...state.fresh].toSorted(inOrder),
  fresh: [],
  tidyings: state.tidyings + 1,
})

/** Most urgent first, then the oldest: as the server lists them. */
const inOrder = (one: DeskTask, other: DeskTask): number => other.priority - one.priority || one.id - other.id

const newer = (task: DeskTask, known: DeskTask | undefined): DeskTask =>
  known !== undefined && Date.parse(known.updated_at) > Date.parse(task.updated_at) ? known : task

export const isWaiting = ({ status }: DeskTask): boolean => status === 'pending' || status === 'failed'

export const isOver = ({ status }: DeskTask): boolean =>
  status === 'solved' || status === 'expired' || status === 'unsolvable'
