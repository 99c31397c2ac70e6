// submit: nothing → pending. The caller is answered after the commit: accepted means on disk.
import type { Pool, Tx, Queryable } from '../../db/database.ts'
import { refused, type Refused } from '../../values/outcome.ts'
import { newJobId } from '../../random.ts'
import type { TraceContext } from '../../traces/context.ts'
import { sendEffects, type Effect } from '../effects.ts'
import { insertJobs, type InsertOptions, type JobsToInsert } from './insert-jobs.ts'
import { writeLargePayloads, type PayloadTexts } from './payload-texts.ts'

// The update changes nothing; it makes `returning` include the row that was there before.
const CLAIM_KEYS = `
  insert into idempotency_keys as known (scope, key, body_hash, job_id)
  select scope, key, body_hash, job_id
    from json_to_recordset($1) as r (scope text, key text, body_hash text, job_id uuid)
   order by scope, key
      on conflict (scope, key) do update set created_at = known.created_at
  returning scope, key, body_hash, job_id`

// xmax is 0 in a row that this statement inserted.
const NAME_JOB = `
  insert into idempotency_keys as known (scope, key, body_hash, job_id) values ($1, $2, $3, $4)
      on conflict (scope, key) do update set created_at = known.created_at
  returning body_hash, job_id, xmax = 0 as is_new`

export interface Idempotency {
  /** Whose key it is: one account's keys at one door. */
  scope: string
  key: string
  bodyHash: string
}

export interface NewJob {
  kind: string
  payload: unknown
  /** About the size of its JSON, if it may be large: that is then made in several turns of the event loop. */
  payloadBytes?: number
  /** Chosen by the door when it has to know the id beforehand. */
  jobId?: string
  priority?: number
  delayMs?: number
  maxAttempts?: number | null
  accountId?: number | null
  /** Where it comes from. */
  trace?: TraceContext | null
  replayOf?: string | null
  idempotency?: Idempotency | null
  effects?: readonly Effect[]
  /** Jobs that are submitted with it, in the same transaction, unless its key named another one before. */
  parts?: readonly NewJob[]
}

/** A new job with every default filled in. */
export interface PreparedJob extends Required<Omit<NewJob, 'parts'>> {
  parts: readonly PreparedJob[]
}

export type Submitted = { ok: true; jobId: string; duplicate: boolean } | Refused<'idempotency_conflict'>

export const PRIORITY_DEFAULT = 5
const ROWS_MAX = 2000 // in one statement
const NO_PARTS: readonly PreparedJob[] = []
const NONE_WRITTEN: PayloadTexts = new Map()

export function prepare(job: NewJob, maxAttempts: number): PreparedJob {
  return {
    payloadBytes: 0,
    jobId: newJobId(),
    priority: PRIORITY_DEFAULT,
    delayMs: 0,
    maxAttempts,
    accountId: null,
    trace: null,
    replayOf: null,
    idempotency: null,
    effects: [],
    ...job,
    parts: job.parts === undefined ? NO_PARTS : job.parts.map((part) => prepare(part, maxAttempts)),
  }
}

/** Inserts all of them. Each gets its own answer: the first job of its key, or a refusal if the body differs. */
export async function submit(pool: Pool, jobs: readonly PreparedJob[], options: InsertOptions): Promise<Submitted[]> {
  const written = await writeLargePayloads(withParts(jobs))
  if (jobs.length <= ROWS_MAX && jobs.every(isPlain)) {
    await insertJobs(pool, { jobs, written }, { ...options, inOneOutboxRow: shareOutboxRow(jobs) })
    return jobs.map(accepted)
  }
  return pool.transaction((tx) => submitWritten(tx, { jobs, written }, options))
}

/** The same inside the caller's transaction, for payloads of moderate size. */
export const submitIn = (tx: Tx, jobs: readonly PreparedJob[], options: InsertOptions): Promise<Submitted[]> =>
  submitWritten(tx, { jobs, written: NONE_WRITTEN }, options)

async function submitWritten(tx: Tx, { jobs, written }: JobsToInsert, options: InsertOptions): Promise<Submitted[]> {
  const answers = await claimKeys(tx, jobs)
  const fresh = freshOf(jobs, answers)
  for (let start = 0; start < fresh.length; start += ROWS_MAX) {
    await insertJobs(sendingOn(tx), { jobs: fresh.slice(start, start + ROWS_MAX), written }, options)
  }
  sendEffects(
    tx,
    fresh.flatMap((job) => job.effects),
  )
  return answers
}

/** Inserts return nothing, so nobody waits for their answer: it comes with the commit's. */
const sendingOn = (tx: Tx): Queryable => ({
  query: async (sql, params) => {
    tx.send(sql, params)
    return []
  },
})

const isPlain = (job: PreparedJob): boolean =>
  job.idempotency === null && job.effects.length === 0 && job.parts.length === 0
const isPlainAndReady = (job: PreparedJob): boolean => isPlain(job) && job.delayMs === 0

/** One job that is ready at once and needs no second statement. */
export const isLonePlainJob = (jobs: readonly PreparedJob[]): jobs is readonly [PreparedJob] =>
  jobs.length === 1 && jobs.every(isPlainAndReady)

/** Several such jobs: one outbox row announces all of them. */
export const shareOutboxRow = (jobs: readonly PreparedJob[]): boolean =>
  jobs.length > 1 && jobs.length <= ROWS_MAX && jobs.every(isPlainAndReady)

export const accepted = (job: PreparedJob): Submitted => ({ ok: true, jobId: job.jobId, duplicate: false })

/** The jobs that these calls created, with their parts. */
export function freshOf(jobs: readonly PreparedJob[], answers: readonly Submitted[]): readonly PreparedJob[] {
  const fresh = jobs.filter((_, index) => {
    const answer = answers[index]
    return answer?.ok === true && !answer.duplicate
  })
  return withParts(fresh)
}

const withParts = (jobs: readonly PreparedJob[]): readonly PreparedJob[] =>
  jobs.some(({ parts }) => parts.length > 0) ? jobs.flatMap((job) => [job, ...job.parts]) : jobs

const FIND_NAMED = `select job_id, body_hash from idempotency_keys where scope = $1 and key = $2`

/** What an earlier submit with this key was answered; null: there was none. */
export async function findNamed(database: Queryable, { scope, key, bodyHash }: Idempotency): Promise<Submitted | null> {
  const [row] = await database.query<{ job_id: string; body_hash: string }>(FIND_NAMED, [scope, key])
  if (row === undefined) return null
  return row.body_hash === bodyHash ? { ok: true, jobId: row.job_id, duplicate: true } : refused('idempotency_conflict')
}

/** Lets a key name a job that exists already, or will after this transaction. */
export async function nameIn(tx: Tx, { scope, key, bodyHash }: Idempotency, jobId: string): Promise<Submitted> {
  type NamedRow = { job_id: string; body_hash: string; is_new: boolean }
  const [row] = await tx.query<NamedRow>(NAME_JOB, [scope, key, bodyHash, jobId])
  if (row === undefined) throw new Error('Naming a job by a key returned no row.')
  if (row.body_hash !== bodyHash) return refused('idempotency_conflict')
  return { ok: true, jobId: row.job_id, duplicate: !row.is_new }
}

async function claimKeys(tx: Tx, jobs: readonly PreparedJob[]): Promise<Submitted[]> {
  const keyed = new Map<string, object>() // the first of each key: `on conflict` cannot meet a row twice in one statement
  for (const { jobId, idempotency } of jobs) {
    if (idempotency === null || keyed.has(idempotencyName(idempotency))) continue
    const { scope, key, bodyHash } = idempotency
    keyed.set(idempotencyName(idempotency), { job_id: jobId, scope, key, body_hash: bodyHash })
  }
  if (keyed.size === 0) return jobs.map(accepted)

  type ClaimedRow = { scope: string; key: string; body_hash: string; job_id: string }
  const claimed = await tx.query<ClaimedRow>(CLAIM_KEYS, [JSON.stringify([...keyed.values()])])
  const rowOf = new Map(claimed.map((row) => [idempotencyName(row), row]))

  return jobs.map((job) => {
    const row = job.idempotency === null ? undefined : rowOf.get(idempotencyName(job.idempotency))
    if (row === undefined || row.job_id === job.jobId) return accepted(job)
    if (row.body_hash !== job.idempotency?.bodyHash) return refused('idempotency_conflict')
    return { ok: true, jobId: row.job_id, duplicate: true }
  })
}

/** One string per key. Scopes are the doors' own and contain no newline. */
export const idempotencyName = ({ scope, key }: { scope: string; key: string }): string => `${scope}\n${key}`
