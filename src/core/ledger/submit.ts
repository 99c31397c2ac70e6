// submit: nothing → pending. The caller is answered after the commit: accepted means on disk.
import { newJobId } from '../random.ts'
import { refused, type Refused } from '../outcome.ts'
import type { WithCommit } from '../events/bus.ts'
import type { Pool, Queryable, Tx } from '../database.ts'
import { sendEffects, type Effect } from './effects.ts'

// `rank` puts priority and age in one order: a level of priority is worth `ageing` seconds of waiting.
export const INSERT_JOBS = `
  insert into jobs (job_id, kind, priority, rank, due_at, payload, max_attempts, account_id, trace_id, replay_of)
  select job_id, kind, priority,
         (date_part('epoch', clock_timestamp()) * 1e6)::bigint + delay_ms * 1000 - priority * $2::bigint * 1000000,
         case when delay_ms > 0 then clock_timestamp() + delay_ms * interval '1 ms' end,
         coalesce(payload, 'null'::json), max_attempts, account_id, trace_id, replay_of
    from json_to_recordset($1) as r (job_id uuid, kind text, priority integer, delay_ms bigint, payload json,
         max_attempts integer, account_id bigint, trace_id text, replay_of uuid)`

// With Redis as the feed, the announcement is a row of the outbox and commits with the job. With PostgreSQL as the feed
// the pending row itself is what the hands look for, and a second row would only be written to be deleted.
export const ANNOUNCED = 'job_id, kind, priority, due_at'
export const INSERT_ANNOUNCEMENTS = `
  insert into outbox_events (job_id, topic, payload, next_attempt_at)
  select job_id, 'feed', json_build_object('kind', kind, 'priority', priority),
         coalesce(due_at, clock_timestamp() + $3 * interval '1 ms')
    from job`
const INSERT_JOBS_AND_OUTBOX = `with job as (${INSERT_JOBS} returning ${ANNOUNCED}) ${INSERT_ANNOUNCEMENTS}`

const INSERT_JOBS_AND_HINT = `
  with job as (${INSERT_JOBS} returning job_id)
  select pg_notify($3, $4) from (select count(*) from job) as inserted`

// An update that changes nothing, because only an update returns the row that was there before.
const CLAIM_KEYS = `
  insert into idempotency_keys as known (scope, key, body_hash, job_id)
  select scope, key, body_hash, job_id
    from json_to_recordset($1) as r (scope text, key text, body_hash text, job_id uuid)
   order by scope, key
      on conflict (scope, key) do update set created_at = known.created_at
  returning scope, key, body_hash, job_id`

// xmax is 0 in a row that this statement inserted, and not in one that it found.
const NAME = `
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
  /** Chosen here when the door needs to know it beforehand. */
  jobId?: string
  priority?: number
  delayMs?: number
  maxAttempts?: number | null
  accountId?: number | null
  traceId?: string | null
  replayOf?: string | null
  idempotency?: Idempotency | null
  effects?: readonly Effect[]
}

/** A new job with every choice made. */
export type PreparedJob = Required<NewJob>

export type Submitted = { ok: true; jobId: string; duplicate: boolean } | Refused<'idempotency_conflict'>

export interface SubmitOptions {
  ageingSec: number
  announceByOutbox: boolean
  /** How long the outbox holds back: so long has whoever submits to announce the job itself, and take the row away. */
  outboxGraceMs?: number
  /** Said with the commit. Only for `isAloneAndPlain`. */
  hint?: WithCommit | null
}

export const PRIORITY_DEFAULT = 5
const ROWS_MAX = 2000 // in one statement

export function prepare(job: NewJob, maxAttempts: number): PreparedJob {
  return {
    jobId: newJobId(),
    priority: PRIORITY_DEFAULT,
    delayMs: 0,
    maxAttempts,
    accountId: null,
    traceId: null,
    replayOf: null,
    idempotency: null,
    effects: [],
    ...job,
  }
}

/** Inserts all of them, each with its own answer: the first job of its key, or a refusal where the body differs. */
export async function submit(pool: Pool, jobs: readonly PreparedJob[], options: SubmitOptions): Promise<Submitted[]> {
  if (jobs.length <= ROWS_MAX && jobs.every(isPlain)) {
    await insert(pool, jobs, options)
    return jobs.map(accepted)
  }
  return pool.transaction((tx) => submitIn(tx, jobs, options))
}

/** The same inside the caller's transaction. */
export async function submitIn(tx: Tx, jobs: readonly PreparedJob[], options: SubmitOptions): Promise<Submitted[]> {
  const answers = await claimKeys(tx, jobs)
  const fresh = jobs.filter((_, index) => isFresh(answers[index]))
  for (let start = 0; start < fresh.length; start += ROWS_MAX) {
    await insert(tx, fresh.slice(start, start + ROWS_MAX), options)
  }
  sendEffects(
    tx,
    fresh.flatMap((job) => job.effects),
  )
  return answers
}

const isPlain = (job: PreparedJob): boolean => job.idempotency === null && job.effects.length === 0

/** One job, ready at once, that one statement inserts. */
export const isAloneAndPlain = (jobs: readonly PreparedJob[]): jobs is readonly [PreparedJob] =>
  jobs.length === 1 && jobs.every((job) => isPlain(job) && job.delayMs === 0)

const accepted = (job: PreparedJob): Submitted => ({ ok: true, jobId: job.jobId, duplicate: false })

/** A new job came of it. */
export const isFresh = (answer: Submitted | undefined): boolean => answer?.ok === true && !answer.duplicate

/** The key alone, for a job that is there or is about to be. */
export async function nameIn(tx: Tx, { scope, key, bodyHash }: Idempotency, jobId: string): Promise<Submitted> {
  type Named = { job_id: string; body_hash: string; is_new: boolean }
  const [row] = await tx.query<Named>(NAME, [scope, key, bodyHash, jobId])
  if (row === undefined) throw new Error('A key gave no answer.')
  if (row.body_hash !== bodyHash) return refused('idempotency_conflict')
  return { ok: true, jobId: row.job_id, duplicate: !row.is_new }
}

async function claimKeys(tx: Tx, jobs: readonly PreparedJob[]): Promise<Submitted[]> {
  const keyed = new Map<string, object>() // the first of each key: a statement cannot meet the same key twice
  for (const { jobId, idempotency } of jobs) {
    if (idempotency === null || keyed.has(idempotencyName(idempotency))) continue
    const { scope, key, bodyHash } = idempotency
    keyed.set(idempotencyName(idempotency), { job_id: jobId, scope, key, body_hash: bodyHash })
  }
  if (keyed.size === 0) return jobs.map(accepted)

  type Claimed = { scope: string; key: string; body_hash: string; job_id: string }
  const claimed = await tx.query<Claimed>(CLAIM_KEYS, [JSON.stringify([...keyed.values()])])
  const rowOf = new Map(claimed.map((row) => [idempotencyName(row), row]))

  return jobs.map((job) => {
    const row = job.idempotency === null ? undefined : rowOf.get(idempotencyName(job.idempotency))
    if (row === undefined || row.job_id === job.jobId) return accepted(job)
    if (row.body_hash !== job.idempotency?.bodyHash) return refused('idempotency_conflict')
    return { ok: true, jobId: row.job_id, duplicate: true }
  })
}

/** One string per key. The scope is ours and holds no newline. */
export const idempotencyName = ({ scope, key }: { scope: string; key: string }): string => `${scope}\n${key}`

async function insert(on: Queryable, jobs: readonly PreparedJob[], options: SubmitOptions): Promise<void> {
  if (jobs.length === 0) return
  const params = [JSON.stringify(jobs.map(jobRow)), options.ageingSec]
  const { hint = null } = options
  if (options.announceByOutbox) await on.query(INSERT_JOBS_AND_OUTBOX, [...params, options.outboxGraceMs ?? 0])
  else if (hint === null) await on.query(INSERT_JOBS, params)
  else await on.query(INSERT_JOBS_AND_HINT, [...params, hint.channel, hint.message])
}

/** What INSERT_JOBS reads of each. What is null is left out: PostgreSQL reads the same, and nothing has to be parsed. */
export const jobRow = (job: PreparedJob) => ({
  job_id: job.jobId,
  kind: job.kind,
  priority: job.priority,
  delay_ms: job.delayMs,
  payload: job.payload ?? undefined,
  max_attempts: job.maxAttempts ?? undefined,
  account_id: job.accountId ?? undefined,
  trace_id: job.traceId ?? undefined,
  replay_of: job.replayOf ?? undefined,
})
