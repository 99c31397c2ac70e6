import type { ReeveClient } from './client.ts'
import { ReeveError } from './error.ts'

export type JudgeVerdict = 'AC' | 'WA' | 'TLE' | 'MLE' | 'OLE' | 'RE' | 'CE' | 'SE'

export interface NewSubmission {
  problem_id: string
  language: string
  code: string
}

export interface SubmissionTest {
  name: string
  verdict: JudgeVerdict
  time_ms: number
  mem_kb: number
  message?: string
  /** Only for a sample, like the next three. */
  input?: string
  expected?: string
  output?: string
  stderr?: string
}

export interface SubmissionGroup {
  name: string
  verdict: JudgeVerdict
  score: number
  max_score: number | null
}

export interface Submission {
  job_id: string
  status: 'PENDING' | 'DISPATCHED' | 'RUNNING' | 'FINISHED'
  attempt_id: number
  problem_id: string
  language: string
  submitted_at: string
  finished_at: string | null
  /** Only when finished, like all fields below. */
  verdict?: JudgeVerdict
  status_text?: string
  time_ms?: number
  mem_kb?: number
  score?: number
  groups?: SubmissionGroup[]
  tests?: SubmissionTest[]
  compile_output?: string
  /** Why the verdict is SE. */
  reason?: string
  code?: string
  degraded?: boolean
  /** A run on an input of its own: `AC` means that it ended normally. */
  own_input?: boolean
}

export interface SubmissionLine {
  job_id: string
  account_id: number
  problem_id: string
  language: string
  status: 'PENDING' | 'RUNNING' | 'FINISHED'
  verdict: JudgeVerdict | null
  status_text: string | null
  score: number | null
  time_ms: number | null
  mem_kb: number | null
  rejudge_of: string | null
  submitted_at: string
  finished_at: string | null
}

export interface Problem {
  problem_id: string
  title: string
  type: 'pass-fail' | 'scoring'
  interactive: boolean
  time_limit_ms: number
  memory_mb: number
  tests: number
  updated_at: string
}

export interface ProblemDetail extends Problem {
  output_mb: number
  time_limits_ms: Record<string, number>
  max_score: number | null
  groups: { name: string; max_score: number | null }[]
  languages: { id: string; name: string; version: string | null }[]
  samples: { name: string; input: string; output: string }[]
  statement: { language: string; format: string; text: string } | null
  /** Names for `picture`. */
  pictures: string[]
}

/** An event of a submission that is being judged. With a higher `attempt_id` judging has started again. */
export type JudgeEvent =
  | { type: 'running'; attempt_id: number; tests: number }
  | ({ type: 'test'; attempt_id: number } & SubmissionTest)
  | {
      type: 'finished'
      attempt_id: number | null
      verdict: JudgeVerdict
      status_text: string
      time_ms: number
      mem_kb: number
      score?: number
      reason?: string
    }

/** Where a picture of a statement is, below the server's address. */
export const picturePath = (problemId: string, file: string): string =>
  `/problems/${encodeURIComponent(problemId)}/statement/${encodeURIComponent(file)}`

const WAIT_SEC_MAX = 50
const TRIES_MAX = 10
const RETRY_MS = 100
const RETRY_MS_MAX = 5000

/** Submissions and problems, as one account. */
export class JudgeClient {
  readonly #client: ReeveClient

  constructor(client: ReeveClient) {
    this.#client = client
  }

  /** With an idempotency key, the same submit may be repeated until it is answered: it creates one submission. */
  submit(
    submission: NewSubmission,
    options: { idempotencyKey?: string } = {},
  ): Promise<{ job_id: string; status: 'PENDING' }> {
    const { idempotencyKey } = options
    const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
    return this.#client.request('POST', '/submit', { body: submission, headers })
  }

  /** Runs a program on an input of its own, with the limits of the problem. Its output is in `tests[0]` of the status. */
  run(
    problemId: string,
    program: { language: string; code: string; input: string },
  ): Promise<{ job_id: string; status: 'PENDING' }> {
    return this.#client.request('POST', `/problems/${encodeURIComponent(problemId)}/run`, { body: program })
  }

  /** A new submission of the same program, judged by the package that is in force now. Needs the role ADMIN. */
  rejudge(jobId: string): Promise<{ job_id: string; status: 'PENDING' }> {
    return this.#client.request('POST', `/submissions/${encodeURIComponent(jobId)}/rejudge`)
  }

  /** A picture of the statement. A page of the same origin may use the path by itself, in `<img src>`. */
  async picture(problemId: string, file: string): Promise<Blob> {
    const response = await this.#client.open('GET', picturePath(problemId, file))
    return response.blob()
  }

  /** `code`: with the program that was submitted. */
  status(jobId: string, options: { code?: boolean; signal?: AbortSignal } = {}): Promise<Submission> {
    const signal = options.signal === undefined ? {} : { signal: options.signal }
    const query = { code: options.code === true ? 'true' : undefined }
    return this.#client.request('GET', pathOf(jobId), { query, ...signal })
  }

  /** The submission once it is judged, or as it is when the time is up. */
  async wait(jobId: string, options: { timeoutMs: number; signal?: AbortSignal }): Promise<Submission> {
    const deadline = performance.now() + options.timeoutMs
    const signal = options.signal === undefined ? {} : { signal: options.signal }
    for (;;) {
      const leftSec = Math.ceil((deadline - performance.now()) / 1000)
      const headers = { prefer: `wait=${Math.max(1, Math.min(WAIT_SEC_MAX, leftSec))}` }
      const submission = await this.#client.request<Submission>('GET', pathOf(jobId), { headers, ...signal })
      if (submission.status === 'FINISHED' || performance.now() >= deadline) return submission
    }
  }

  /** Every test as it is judged, and the verdict, after which it ends. A connection that breaks is opened again. */
  async *watch(jobId: string, options: { signal?: AbortSignal } = {}): AsyncGenerator<JudgeEvent> {
    let lastId = ''
    let failure: unknown = null
    for (let tries = 0; tries < TRIES_MAX; tries += 1) {
      if (tries > 0) await pause(Math.min(RETRY_MS_MAX, RETRY_MS * 2 ** (tries - 1)), options.signal)
      const headers: Record<string, string> = lastId === '' ? {} : { 'last-event-id': lastId }
      try {
        const response = await this.#client.open('GET', `${pathOf(jobId)}/events`, { headers, ...options })
        for await (const { id, event } of eventsOf(response)) {
          if (id !== '') {
            lastId = id
            tries = 0 // the connection was of use
          }
          yield event
          if (event.type === 'finished') return
        }
      } catch (error) {
        if (options.signal?.aborted === true || !isBroken(error)) throw error
        failure = error
      }
    }
    throw new Error('The connection broke repeatedly.', { cause: failure })
  }

  /** Your own submissions, newest first; `all`: everybody's, for admins. */
  submissions(
    filter: { problem_id?: string; verdict?: JudgeVerdict; before?: string; limit?: number; all?: boolean } = {},
  ): Promise<{ submissions: SubmissionLine[]; next_before: string | null }> {
    const { all, ...rest } = filter
    return this.#client.request('GET', '/submissions', { query: { ...rest, all: all === true ? 'true' : undefined } })
  }

  problems(
    filter: { after?: string; limit?: number } = {},
  ): Promise<{ problems: Problem[]; next_after: string | null }> {
    return this.#client.request('GET', '/problems', { query: { ...filter } })
  }

  problem(problemId: string): Promise<ProblemDetail> {
    return this.#client.request('GET', `/problems/${encodeURIComponent(problemId)}`)
  }

  /**
   * A package as a zip, or an archive of `N.in` and `N.out` files, for which limits can be given (seconds, MB). Needs an
   * account with the role ADMIN.
   */
  putProblem(
    problemId: string,
    zip: Uint8Array<ArrayBuffer>,
    limits: { timeLimit?: number | undefined; memoryLimit?: number | undefined } = {},
  ): Promise<{ problem_id: string; title: string; tests: number }> {
    const query = { time_limit: limits.timeLimit, memory_limit: limits.memoryLimit }
    const headers = { 'content-type': 'application/zip' }
    return this.#client.request('PUT', `/problems/${encodeURIComponent(problemId)}`, { bytes: zip, headers, query })
  }
}

const pathOf = (jobId: string): string => `/status/${encodeURIComponent(jobId)}`

/** An answer of the server is not a broken connection, unless a proxy or a restart is behind it. */
const isBroken = (error: unknown): boolean => !(error instanceof ReeveError) || error.status >= 500

const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
  })

/** Server-sent events: blocks of lines, with an empty line after each. */
async function* eventsOf(response: Response): AsyncGenerator<{ id: string; event: JudgeEvent }> {
  if (response.body === null) return
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of chunksOf(response.body)) {
    text += decoder.decode(chunk, { stream: true })
    const blocks = text.split('\n\n')
    text = blocks.pop() ?? ''
    for (const block of blocks) {
      const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1] ?? ''
      if (field('event') !== '')
        yield { id: field('id'), event: { type: field('event'), ...JSON.parse(field('data')) } }
    }
  }
}

/** Not every browser can iterate over a stream. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader()
  try {
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return
      yield value
    }
  } finally {
    await reader.cancel().catch(() => {})
  }
}
