// GET /status/{job_id}/events: a submission as it is judged, as server-sent events: `running`, a `test` for each test, and
// `finished`, which ends the stream. It begins with what has happened already, or after the `Last-Event-ID` of a client
// that comes back. An event waits in the log until the client has room for it.
import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { StopSignal } from '../../../core/concurrency/stop-signal.ts'
import type { Deps } from '../../../core/door.ts'
import type { Event, Events } from '../../../core/events/events.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { requireAccount } from '../../../core/http/auth/guard.ts'
import { waitSignal } from '../../../core/http/request/prefer.ts'
import type { Job } from '../../../core/ledger/job.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { Wake } from '../../../core/loop.ts'
import { LOOKUP_REFUSALS } from '../errors.ts'
import { channelOf } from './progress.ts'
import { JobPath, submissionOf } from './read-status.ts'
import { resultFrom } from './result.ts'
import { STATUS_TEXT } from './verdict.ts'

const ALIVE_EVERY_MS = 15_000
const EVENT_ID = /^\d{1,15}$/

export const watchRoute =
  ({ identity, ledger, events }: Pick<Deps, 'identity' | 'ledger' | 'events'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      tags: ['judge'],
      security: SECURED,
      summary: 'Server-sent events of a submission: running, test, finished.',
      params: JobPath,
      response: { 200: Type.Unknown({ description: 'text/event-stream' }), ...LOOKUP_REFUSALS },
    }

    app.get('/status/:job_id/events', { schema, onRequest: requireAccount(identity) }, async (request, reply) => {
      const job = await submissionOf(ledger, request, request.params.job_id)
      const signal = waitSignal(request, reply)
      const told = tell({ ledger, events, job, since: sinceOf(request), signal })
      reply.header('cache-control', 'no-store').header('x-accel-buffering', 'no')
      return reply.type('text/event-stream; charset=utf-8').send(Readable.from(told, { objectMode: false }))
    })
  }

function sinceOf(request: FastifyRequest): number {
  const id = request.headers['last-event-id']
  return typeof id === 'string' && EVENT_ID.test(id) ? Number(id) : 0
}

interface Telling {
  ledger: Ledger
  events: Events
  job: Job
  since: number
  signal: StopSignal
}

async function* tell({ ledger, events, job, since, signal }: Telling): AsyncGenerator<string> {
  yield ': watching\n\n'
  const inbox = new Inbox(signal)
  const subscription = await events.subscribe(channelOf(job.jobId), { since }, (event) => inbox.put(event))
  try {
    for (;;) {
      const event = await inbox.take(ALIVE_EVERY_MS)
      if (event !== null) yield messagesOf(event)
      if (event?.type === 'finished' || signal.aborted) return
      if (event !== null) continue
      // Nothing for a while: say that we are there, and look whether the end was missed (the log is kept for days only).
      const now = await ledger.get(job.jobId)
      if (now === null || now.finishedAt !== null) return yield lastWord(now ?? job)
      yield ': alive\n\n'
    }
  } finally {
    subscription.close()
    inbox.close()
  }
}

const message = (type: string, data: object, id?: number): string =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`

/** One stored event carries several tests. The id goes with the last message, so a reconnect repeats none of them. */
function messagesOf({ id, type, payload }: Event): string {
  const { attempt_id, total, tests, ...ending } = fieldsOf(payload)
  const lines = Array.isArray(tests) ? tests : []
  const last = type === 'finished' ? 'finished' : lines.length > 0 ? 'test' : 'running'
  const parts: [type: string, data: object][] = []
  if (type === 'progress') parts.push(['running', { attempt_id, tests: total }])
  for (const line of lines) parts.push(['test', { attempt_id, ...fieldsOf(line) }])
  if (last === 'finished') parts.push(['finished', { attempt_id, ...ending }])
  return parts.map(([name, data], index) => message(name, data, index === parts.length - 1 ? id : undefined)).join('')
}

const fieldsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {}

function lastWord(job: Job): string {
  const result = resultFrom(job.result)
  const verdict = result?.verdict ?? 'SE'
  const reason = job.reason === null ? {} : { reason: job.reason }
  const { time_ms = 0, mem_kb = 0 } = result ?? {}
  const data = { attempt_id: job.attemptId, verdict, status_text: STATUS_TEXT[verdict], time_ms, mem_kb, ...reason }
  return message('finished', data)
}

/** Holds one event: `put` waits until it was taken and the next one is wanted. */
class Inbox {
  readonly #signal: StopSignal
  readonly #arrived = new Wake()
  #event: Event | null = null
  #wakePutter: () => void = () => {}
  #isClosed = false

  constructor(signal: StopSignal) {
    this.#signal = signal
  }

  async put(event: Event): Promise<void> {
    if (this.#isClosed) return
    this.#event = event
    const taken = new Promise<void>((resolve) => (this.#wakePutter = resolve))
    this.#arrived.ring()
    await taken
  }

  /** Null: none came in time. */
  async take(withinMs: number): Promise<Event | null> {
    await this.#arrived.wait(withinMs, this.#signal)
    const event = this.#event
    this.#event = null
    this.#wakePutter()
    return event
  }

  close(): void {
    this.#isClosed = true
    this.#wakePutter()
  }
}
