// The two statements of a submit: what is read before a result is checked, and what is written when it is accepted.
import { batched } from '../../../core/db/batch.ts'
import type { Database } from '../../../core/db/database.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import { timestampText } from '../wire.ts'

// The task exists until the job has ended.
const READ = `
  select input.n, w.worker_id, w.public_key, a.assignment_id, a.job_id, a.attempt_id, a.nonce, a.lease_ms,
         r.assignment_id is not null as is_submitted, ${timestampText('clock_timestamp()')} as now,
         t.quorum_id, t.canary_id, t.callback_url, coalesce(t.requires_hash, false) as requires_hash,
         coalesce(t.retries_left, 0) as retries_left, l.client_id,
         c.expected_hash
    from json_to_recordset($1) as input (n integer, worker_id bigint, owner_id bigint, assignment_id bigint)
    join pool_workers w on w.worker_id = input.worker_id and w.owner_id = input.owner_id and w.removed_at is null
    left join pool_assignments a on a.assignment_id = input.assignment_id and a.worker_id = input.worker_id
    left join pool_results r on r.assignment_id = a.assignment_id
    left join pool_tasks t on t.job_id = a.job_id
    left join pool_requirement_classes l on l.class_id = t.class_id
    left join pool_canaries c on c.canary_id = t.canary_id`

/** Shown to the owner. It does not say which job was a canary. */
const BAN_REASON = 'wrong results'

const IS_SUBMITTED = `select from pool_results where assignment_id = $1`

// Everything that a result changes beside the ledger. The touch of a quorum and a callback are effects of their own.
const RECORD = `
  with given as materialized (
    select * from json_to_recordset($1) as r (assignment_id bigint, job_id uuid, quorum_id uuid, worker_id bigint, status text,
           output text, output_hash text, computed_hash text, vote text, error_message text, artifact_uri text, metrics text,
           signature text, public_key text, verdict text, finished_at timestamptz, is_final boolean, ban_after integer)
  ), recorded as (
    insert into pool_results (assignment_id, job_id, quorum_id, worker_id, status, output, output_hash, computed_hash, vote,
                              error_message, artifact_uri, metrics, signature, public_key, verdict, finished_at, is_final)
    select assignment_id, job_id, quorum_id, worker_id, status, output::json, output_hash, computed_hash, vote, error_message,
           artifact_uri, metrics::json, signature, public_key, verdict, finished_at, is_final
      from given
  ), ended as (
    delete from pool_tasks using given where pool_tasks.job_id = given.job_id and given.is_final
  ), retried as (
    update pool_tasks t
       set worker_id = null, held_at = null, retries_left = t.retries_left - 1, failed_by = t.failed_by || given.worker_id
      from given where t.job_id = given.job_id and not given.is_final
  ), locked as materialized (
    select w.worker_id, w.banned_at is null and given.verdict = 'wrong' and given.ban_after > 0
                        and w.canaries_wrong + 1 >= given.ban_after as falls
      from given join pool_workers w on w.worker_id = given.worker_id
     order by w.worker_id for no key update of w
  ), audited as (
    insert into pool_audit (worker_id, action, reason) select worker_id, 'ban', '${BAN_REASON}' from locked where falls
  )
  update pool_workers w
     set assignment_id = nullif(w.assignment_id, given.assignment_id),
         completed = w.completed + (given.status = 'completed')::integer,
         failed = w.failed + (given.status = 'failed')::integer,
         canaries_passed = w.canaries_passed + (given.verdict is not distinct from 'passed')::integer,
         proven = w.proven + (given.verdict is not distinct from 'passed')::integer,
         canaries_wrong = w.canaries_wrong + (given.verdict is not distinct from 'wrong')::integer,
         banned_at = case when locked.falls then clock_timestamp() else w.banned_at end,
         ban_reason = case when locked.falls then '${BAN_REASON}' else w.ban_reason end
    from locked join given on given.worker_id = locked.worker_id
   where w.worker_id = locked.worker_id`

export interface ResultKey {
  workerId: number
  ownerId: number
  assignmentId: number
}

export interface Submittable {
  publicKey: string | null
  /** The database's clock. */
  now: string
  /** Null: unknown, or another worker's. */
  assignment: OpenAssignment | null
}

export interface OpenAssignment {
  jobId: string
  attemptId: number
  nonce: string
  leaseMs: number
  isSubmitted: boolean
  quorumId: string | null
  callbackUrl: string | null
  clientId: number | null
  requiresHash: boolean
  /** How many more `failed` results are not final. */
  retriesLeft: number
  /** Of a canary. */
  expectedHash: string | null
}

export type CanaryVerdict = 'passed' | 'wrong'

export interface RecordedResult {
  assignmentId: number
  jobId: string
  quorumId: string | null
  workerId: number
  status: 'completed' | 'failed'
  /** JSON. */
  output: string | null
  outputHash: string | null
  computedHash: string | null
  vote: string | null
  errorMessage: string | null
  artifactUri: string | null
  metrics: string | null
  signature: string
  publicKey: string
  verdict: CanaryVerdict | null
  finishedAt: string
  /** False: the job waits for another worker. */
  isFinal: boolean
}

export interface ResultStore {
  /** Null: unknown worker, or another owner's. */
  read(key: ResultKey): Promise<Submittable | null>
  isSubmitted(assignmentId: number): Promise<boolean>
  record(result: RecordedResult): Effect
}

export function openResultStore({ database, banAfter }: { database: Database; banAfter: number }): ResultStore {
  const read = batched<ResultKey, { found: Submittable | null }>({
    async run(keys) {
      const rows = await database.hot.query<SubmittableRow>(READ, [
        JSON.stringify(
          keys.map(({ workerId, ownerId, assignmentId }, n) => {
            return { n, worker_id: workerId, owner_id: ownerId, assignment_id: assignmentId }
          }),
        ),
      ])
      const rowOf = new Map(rows.map((row) => [row.n, row]))
      return keys.map((_, n) => ({ found: foundIn(rowOf.get(n)) }))
    },
  })
  return {
    read: async (key) => (await read(key)).found,
    isSubmitted: async (assignmentId) => (await database.query(IS_SUBMITTED, [assignmentId])).length > 0,
    record: (result) => ({ sql: RECORD, row: { ban_after: banAfter, ...resultRow(result) } }),
  }
}

interface SubmittableRow {
  n: number
  public_key: string | null
  assignment_id: string | null
  job_id: string | null
  attempt_id: number | null
  nonce: string | null
  lease_ms: number | null
  retries_left: number
  is_submitted: boolean
  now: string
  quorum_id: string | null
  callback_url: string | null
  requires_hash: boolean
  client_id: string | null
  expected_hash: string | null
}

function foundIn(row: SubmittableRow | undefined): Submittable | null {
  if (row === undefined) return null
  const { public_key: publicKey, now, job_id: jobId, attempt_id: attemptId, nonce, lease_ms: leaseMs } = row
  if (jobId === null || attemptId === null || nonce === null || leaseMs === null)
    return { publicKey, now, assignment: null }
  return {
    publicKey,
    now,
    assignment: {
      jobId,
      attemptId,
      nonce,
      leaseMs,
      isSubmitted: row.is_submitted,
      quorumId: row.quorum_id,
      callbackUrl: row.callback_url,
      clientId: row.client_id === null ? null : Number(row.client_id),
      requiresHash: row.requires_hash,
      retriesLeft: row.retries_left,
      expectedHash: row.expected_hash,
    },
  }
}

const resultRow = (result: RecordedResult) => ({
  assignment_id: result.assignmentId,
  job_id: result.jobId,
  quorum_id: result.quorumId,
  worker_id: result.workerId,
  status: result.status,
  output: result.output,
  output_hash: result.outputHash,
  computed_hash: result.computedHash,
  vote: result.vote,
  error_message: result.errorMessage,
  artifact_uri: result.artifactUri,
  metrics: result.metrics,
  signature: result.signature,
  public_key: result.publicKey,
  verdict: result.verdict,
  finished_at: result.finishedAt,
  is_final: result.isFinal,
})
