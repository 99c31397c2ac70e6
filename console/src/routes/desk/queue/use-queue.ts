// Loads the list page by page and keeps it current.
import type { DeskTask } from '@reeve/sdk'
import { useEffect, useEffectEvent, useReducer, useRef, useState } from 'react'
import { useLive } from '../../../live/live.ts'
import { client } from '../../../session/client.ts'
import { filterOf, matches } from './filter.ts'
import { EMPTY, isWaiting, queueReducer, type QueueState } from './queue-state.ts'

const PAGE_ROWS = 50

export interface Queue extends QueueState {
  error: unknown
  loadMore(): void
  reload(): void
  /** New tasks are put in their place, and ended ones taken out. */
  tidy(): void
  /** What an answer of the server said about a task, before the live connection does. */
  put(task: DeskTask): void
}

export interface QueueOptions {
  /** The words of the search. */
  query: string
  /** A task that waits has come. */
  onArrival(task: DeskTask): void
  /** Anything has happened to this task. */
  onChange(task: DeskTask): void
}

export function useQueue({ query, onArrival, onChange }: QueueOptions): Queue {
  const [state, dispatch] = useReducer(queueReducer, EMPTY)
  const [error, setError] = useState<unknown>(null)
  const loading = useRef<AbortController | null>(null)
  const hasHeard = useRef(false)

  const load = async (after: string | null) => {
    if (after !== null && loading.current !== null) return
    loading.current?.abort()
    const mine = new AbortController()
    loading.current = mine
    setError(null)
    dispatch({ type: 'loading' })
    try {
      const page = await client.desk.list({
        ...filterOf(query),
        limit: PAGE_ROWS,
        ...(after === null ? {} : { after }),
      })
      if (mine.signal.aborted) return
      dispatch({ type: 'loaded', tasks: page.tasks, after: page.next_after, isFirst: after === null })
    } catch (failure) {
      if (mine.signal.aborted) return
      setError(failure)
      dispatch({ type: 'failed' })
    } finally {
      if (loading.current === mine) loading.current = null
    }
  }
  const reload = () => void load(null)
  const put = (task: DeskTask) => dispatch({ type: 'changed', task, isMatch: matches(task, filterOf(query)) })
  useLive({
    topic: 'desk',
    onMessage: ({ type, payload, id }) => {
      // Before the first event there is no id to follow on from: what came until now is not told. Or an answer was lost.
      if (type === 'following' && (!hasHeard.current || error !== null)) reload()
      if (id !== undefined) hasHeard.current = true
      const task = taskOf(payload)
      if (task === null) return
      put(task)
      onChange(task)
      if (type === 'task_created' && isWaiting(task) && matches(task, filterOf(query))) onArrival(task)
    },
  })
  const loadFirst = useEffectEvent(reload)
  useEffect(() => loadFirst(), [query])

  const { after } = state
  return {
    ...state,
    error,
    loadMore: () => after !== null && void load(after),
    reload,
    tidy: () => dispatch({ type: 'tidied' }),
    put,
  }
}

function taskOf(payload: unknown): DeskTask | null {
  const isTask = (value: unknown): value is DeskTask => typeof value === 'object' && value !== null && 'uuid' in value
  if (typeof payload !== 'object' || payload === null || !('task' in payload)) return null
  return isTask(payload.task) ? payload.task : null
}
