// A submission while it is judged: its events as they come over the live connection, and the whole of it once it is finished.
import type { LiveMessage, SubmissionTest } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLive } from '../../../live/live.ts'
import { client } from '../../../session/client.ts'
import { isRefused } from '../../../session/errors.ts'

/** After a lost connection the browser may still hold others that are dead: an answer that does not come is asked for again. */
const ANSWER_MS = 4000
const AGAIN_MS = 200
const TRIES_MAX = 8

export interface Progress {
  jobId: string | null
  attemptId: number
  /** Null: it is not compiled yet. */
  total: number | null
  tests: readonly SubmissionTest[]
}

const nothingOf = (jobId: string | null): Progress => ({ jobId, attemptId: 0, total: null, tests: [] })

export function useSubmission(jobId: string | null) {
  const found = useQuery({
    queryKey: ['judge', 'submission', jobId],
    queryFn: ({ signal }) => {
      const within = AbortSignal.any([signal, AbortSignal.timeout(ANSWER_MS)])
      return client.judge.status(jobId ?? '', { code: true, signal: within })
    },
    retry: (failures, error) => failures < TRIES_MAX && !isRefused(error),
    retryDelay: AGAIN_MS,
    enabled: jobId !== null,
  })
  const [heard, setHeard] = useState(() => nothingOf(jobId))
  const progress = heard.jobId === jobId ? heard : nothingOf(jobId)
  useLive({
    topic: 'submission',
    params: { job_id: jobId },
    since: 0,
    enabled: jobId !== null && found.data !== undefined && found.data.status !== 'FINISHED',
    onMessage: (message) => {
      if (message.type === 'finished') void found.refetch()
      else setHeard((known) => after(known.jobId === jobId ? known : nothingOf(jobId), message))
    },
  })
  return { found, progress }
}

/** A higher attempt begins anew; an event that comes again changes nothing. */
function after(known: Progress, { payload }: LiveMessage): Progress {
  if (!isProgress(payload)) return known
  const { attempt_id: attemptId, total, tests } = payload
  const current = attemptId > known.attemptId ? { ...nothingOf(known.jobId), attemptId } : known
  const names = new Set(tests.map(({ name }) => name))
  return { ...current, total, tests: [...current.tests.filter(({ name }) => !names.has(name)), ...tests] }
}

interface ProgressPayload {
  attempt_id: number
  total: number | null
  tests: readonly SubmissionTest[]
}

const isProgress = (payload: unknown): payload is ProgressPayload =>
  typeof payload === 'object' &&
  payload !== null &&
  'attempt_id' in payload &&
  typeof payload.attempt_id === 'number' &&
  'tests' in payload &&
  Array.isArray(payload.tests)
