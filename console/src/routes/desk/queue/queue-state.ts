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
}

export const EMPTY: QueueState = { rows: [], fresh: [], after: null, isLoaded: false, tidyings: 0 }

export type QueueAction =
  | { type: 'loaded'; tasks: readonly DeskTask[]; after: string | null; isFirst: boolean }
  | { type: 'changed'; task: DeskTask; isMatch: boolean }
  | { type: 'tidied' }

export function queueReducer(state: QueueState, action: QueueAction): QueueState {
  switch (action.type) {
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
) {
  if (isFirst) {
    const known = new Map([...state.rows, ...state.fresh].map((task) => [task.uuid, task]))
    const rows = tasks.map((task) => newer(task, known.get(task.uuid)))
    return { ...state, rows, fresh: [], after, isLoaded: true }
  }
  const shown = new Set(state.rows.map(({ uuid }) => uuid))
  const added = tasks.filter(({ uuid }) => !shown.has(uuid))
  const here = new Set(added.map(({ uuid }) => uuid))
  const fresh = state.fresh.filter(({ uuid }) => !here.has(uuid))
  return { ...state, rows: [...state.rows, ...added], fresh, after }
}

function changed(state: QueueState, task: DeskTask, isMatch: boolean): QueueState {
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
