// pool_quorums: one row for each replicated job, read in one snapshot with the results and open tasks of its replicas.
import { batched } from '../../../core/db/batch.ts'
import type { Database, Queryable } from '../../../core/db/database.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import type { JobEnd } from '../clients/callbacks.ts'
import { timestampText } from '../wire.ts'
import { type AgreeRule, COMPARED_BYTES_MAX } from './agreement.ts'
import type { Vote } from './tally.ts'
import type { ClientPayload } from '../tasks/payload.ts'
import { classColumns, type ClassRef } from '../tasks/task-rows.ts'

const INSERT = `
  insert into pool_quorums (job_id, class_id, quorum, replicas, replicas_max, issued, touches, settled, agree, retries,
                            payload_bytes, deadline_at)
  select job_id, coalesce(class_id, (select c.class_id from pool_requirement_classes c where c.key = class_key)), quorum,
         replicas, replicas_max, issued, 1, case when issued = replicas then 1 else 0 end, agree, retries, payload_bytes,
         clock_timestamp() + timeout_seconds * interval '1 second'
    from json_to_recordset($1) as r (job_id uuid, class_id bigint, class_key text, quorum smallint, replicas smallint,
         replicas_max smallint, issued smallint, agree json, retries smallint, payload_bytes integer,
         timeout_seconds integer)`

const VERDICT_COUNTS = `count(*) filter (where verdict = 'agreed') as agreed,
           count(*) filter (where verdict = 'disagreed') as disagreed`
const ADD_COUNTS = `agreed = w.agreed + counted.agreed, disagreed = w.disagreed + counted.disagreed,
         proven = case when counted.disagreed > 0 then 0 else w.proven end`

// Something happened to a replica. All but the first touch are such events, and each of them ended one replica at most. So few
// that they can neither agree nor rule out an agreement leave nothing to settle.
const TOUCH = `
  with named as materialized (
    select q.job_id, count(*) as times from json_to_recordset($1) as r (quorum_id uuid)
      join pool_quorums q on q.job_id = r.quorum_id group by q.job_id
  ), locked as materialized (
    select job_id from pool_quorums where job_id in (select job_id from named) order by job_id for no key update
  )
  update pool_quorums q
     set touches = q.touches + named.times,
         settled = case when q.settled = q.touches and q.issued = q.replicas and q.ended_at is null
                             and q.touches + named.times - 1 <= least(q.quorum - 1, q.replicas - q.quorum)
                        then q.touches + named.times else q.settled end
    from named join locked on locked.job_id = named.job_id where q.job_id = named.job_id`

// Those that are to be settled. Votes and tasks in one statement: a replica that ends between two reads would be in neither.
const READ = `
  select q.job_id, q.class_id, q.quorum, q.replicas, q.replicas_max, q.issued, q.agree, q.retries, q.winner_id, q.touches, q.ended_at is not null as has_ended,
         q.settled >= 0 as is_counted,
         ${timestampText('clock_timestamp()')} as now,
         ${timestampText('q.accepted_at')} as accepted_at, ${timestampText('q.deadline_at')} as deadline_at,
         array(select t.job_id from pool_tasks t where t.quorum_id = q.job_id) as outstanding,
         coalesce((select json_agg(json_build_object('assignment_id', r.assignment_id, 'vote', r.vote,
                                                     'counts', w.banned_at is null, 'verdict', r.verdict, 'status', r.status,
                                                     'output_hash', r.output_hash, 'error_message', r.error_message)
                                     order by r.finished_at, r.assignment_id)
                     from pool_results r join pool_workers w on w.worker_id = r.worker_id
                    where r.quorum_id = q.job_id and r.is_final), '[]') as votes
    from pool_quorums q where q.job_id = any($1::uuid[]) and q.touches > q.settled`

// No replica is issued for a job that has ended: the end commits `ended_at` with the job, and this statement locks the row
// before it reads it.
const CLAIM_ISSUES = `
  with input as materialized (
    select * from json_to_recordset($1) as r (job_id uuid, issued smallint, count smallint, touches integer)
  ), locked as materialized (
    select job_id from pool_quorums where job_id in (select job_id from input) order by job_id for no key update
  )
  update pool_quorums q set issued = q.issued + input.count, settled = greatest(q.settled, input.touches)
    from locked join input on input.job_id = locked.job_id
   where q.job_id = locked.job_id and q.issued = input.issued and q.ended_at is null
  returning q.job_id`

// Only what has not changed since it was read. The first mark after the end counts the results that the end has judged for their
// workers: once, and without a lock on them while the end waits for the disk. Workers are locked before quorums, as by a result.
const MARK_SETTLED = `
  with input as materialized (
    select * from json_to_recordset($1) as r (job_id uuid, touches integer, issued smallint)
  ), judged as materialized (
    select q.job_id, r.worker_id, r.verdict
      from input join pool_quorums q on q.job_id = input.job_id and q.settled < 0
      join pool_results r on r.quorum_id = q.job_id and r.verdict in ('agreed', 'disagreed')
  ), workers as materialized (
    select worker_id from pool_workers where worker_id in (select worker_id from judged) order by worker_id for no key update
  ), locked as materialized (
    select job_id, settled < 0 as is_uncounted from pool_quorums
     where job_id in (select job_id from input) and (select count(*) from workers) >= 0
     order by job_id for no key update
  ), marked as (
    update pool_quorums q set settled = input.touches
      from locked join input on input.job_id = locked.job_id
     where q.job_id = locked.job_id and q.touches = input.touches and q.issued = input.issued
    returning q.job_id, locked.is_uncounted
  ), counted as materialized (
    select judged.worker_id, ${VERDICT_COUNTS}
      from judged join marked on marked.job_id = judged.job_id and marked.is_uncounted group by judged.worker_id
  ), added as (
    update pool_workers w set ${ADD_COUNTS} from counted where w.worker_id = counted.worker_id
  )
  select job_id from marked`

// The touch makes sure that somebody cancels the replicas that are still open and counts the verdicts: until then `settled` is negative.
const END = `
  with input as materialized (
    select * from json_to_recordset($1) as r (job_id uuid, winner_id bigint)
  ), gone as (
    delete from pool_parts using input where pool_parts.quorum_id = input.job_id
  ), locked as materialized (
    select job_id from pool_quorums where job_id in (select job_id from input) order by job_id for no key update
  )
  update pool_quorums q set winner_id = input.winner_id, ended_at = clock_timestamp(), touches = q.touches + 1, settled = -1
    from locked join input on input.job_id = locked.job_id where q.job_id = locked.job_id`

// Which results agree with the decision and which do not. A `failed` result is neither. Each result is judged once.
const JUDGE = `
  update pool_results r set verdict = input.verdict
    from json_to_recordset($1) as input (assignment_id bigint, verdict text)
   where r.assignment_id = input.assignment_id and r.verdict is null and r.status = 'completed'`

// The same for results that came after the others had been counted.
const JUDGE_AND_COUNT = `
  with judged as (${JUDGE} returning r.worker_id, r.verdict), counted as materialized (
    select worker_id, ${VERDICT_COUNTS} from judged group by worker_id
  ), locked as materialized (
    select w.worker_id from counted join pool_workers w on w.worker_id = counted.worker_id
     order by w.worker_id for no key update of w
  )
  update pool_workers w set ${ADD_COUNTS}
    from locked join counted on counted.worker_id = locked.worker_id where w.worker_id = locked.worker_id`

const READ_OUTPUTS = `
  select assignment_id, output::text as output from pool_results
   where quorum_id = $1 and is_final and output is not null and octet_length(output::text) <= $2`

const TOUCH_VOTED = `
  with voted as materialized (
    select distinct q.job_id from json_to_recordset($1) as input (worker_id bigint)
      join pool_results r on r.worker_id = input.worker_id and r.verdict is null and r.quorum_id is not null
      join pool_quorums q on q.job_id = r.quorum_id and q.ended_at is null
  ), locked as materialized (
    select job_id from pool_quorums where job_id in (select job_id from voted) order by job_id for no key update
  )
  update pool_quorums q set touches = touches + 1 from locked where q.job_id = locked.job_id`

const READ_ENDS = `
  select assignment_id, status, output::text as output, output_hash, error_message, artifact_uri, metrics::text as metrics,
         ${timestampText('finished_at')} as finished_at
    from pool_results where assignment_id = any($1::bigint[])`

const UNSETTLED = `select job_id from pool_quorums where touches > settled order by job_id limit $1`

/** A replica's final result. */
export interface QuorumVote extends Vote {
  assignment_id: number
  verdict: string | null
  status: JobEnd['status']
  output_hash: string | null
  error_message: string | null
}

export interface QuorumState {
  classId: number
  quorum: number
  replicas: number
  replicasMax: number
  issued: number
  /** Null: equal output hashes. */
  agree: AgreeRule | null
  retries: number
  /** Of the agreed result. Null: undecided, or ended without agreement. */
  winnerId: number | null
  hasEnded: boolean
  /** False: it has ended, and the results that were judged then are not counted yet. */
  isCounted: boolean
  /** The database's clock when this was read. */
  now: string
  touches: number
  acceptedAt: string
  deadlineAt: string
  /** Replicas that have not ended. */
  outstanding: string[]
  votes: QuorumVote[]
}

/** With the submit of its job. `issued`: replicas that are submitted with it, all or none. */
export const addQuorum = (
  jobId: string,
  payload: ClientPayload,
  ref: ClassRef,
  { issued, extraReplicas }: { issued: number; extraReplicas: number },
): Effect => ({
  sql: INSERT,
  row: {
    issued,
    job_id: jobId,
    quorum: payload.quorum,
    replicas: payload.replicas,
    replicas_max: payload.replicas + extraReplicas,
    agree: payload.agree,
    retries: payload.max_attempts - 1,
    payload_bytes: Buffer.byteLength(payload.job),
    timeout_seconds: payload.timeout_seconds,
    ...classColumns(ref),
  },
})

/** Something happened to a replica: its quorum is to be settled again. */
export const touchQuorum = (quorumId: string): Effect => ({ sql: TOUCH, row: { quorum_id: quorumId } })

/** With the end of the job. */
export const endQuorum = (jobId: string, winnerId: number | null): Effect => ({
  sql: END,
  row: { job_id: jobId, winner_id: winnerId },
})

export interface ResultVerdict {
  assignmentId: number
  verdict: 'agreed' | 'disagreed'
}

const verdictRow = ({ assignmentId, verdict }: ResultVerdict) => ({ assignment_id: assignmentId, verdict })

/** With the end of the job. Whoever marks it as settled counts them for the workers. */
export const judgeResults = (verdicts: readonly ResultVerdict[]): Effect[] =>
  verdicts.map((one) => ({ sql: JUDGE, row: verdictRow(one) }))

/** A worker is banned: every undecided quorum in which it has voted is to be settled again. */
export const touchVotesOf = (workerId: number): Effect => ({ sql: TOUCH_VOTED, row: { worker_id: workerId } })

/** What is known of a quorum that is settled. */
export interface SettledAt {
  touches: number
  issued: number
}

export interface QuorumRows {
  /** Null: there is nothing to settle. */
  read(quorumId: string): Promise<QuorumState | null>
  /** The agreed result. */
  readEnd(assignmentId: number): Promise<JobEnd>
  /** False: something has happened since. */
  markSettled(quorumId: string, at: SettledAt): Promise<boolean>
  /** Results that came after the decision. `isCounted`: of the quorum. */
  judgeLate(verdicts: readonly ResultVerdict[], isCounted: boolean): Promise<void>
}

/** Concurrent calls share a statement. */
export function openQuorumRows({ hot, asyncCommit }: Database): QuorumRows {
  const read = batched<string, { state: QuorumState | null }>({
    async run(quorumIds) {
      const rows = await hot.query<QuorumRow>(READ, [quorumIds])
      const stateOf = new Map(rows.map((row) => [row.job_id, stateFrom(row)]))
      return quorumIds.map((quorumId) => ({ state: stateOf.get(quorumId) ?? null }))
    },
  })
  const readEnd = batched<number, { end: JobEnd | null }>({
    rowsMax: ENDS_MAX,
    async run(assignmentIds) {
      const rows = await hot.query<EndRow>(READ_ENDS, [assignmentIds])
      const endOf = new Map(rows.map((row) => [Number(row.assignment_id), endFrom(row)]))
      return assignmentIds.map((assignmentId) => ({ end: endOf.get(assignmentId) ?? null }))
    },
  })
  // None of these waits for the disk: what the database forgets is done again by the loop, and it forgets the mark first.
  const markSettled = batched<SettledAt & { job_id: string }, boolean>({
    keyOf: (row) => row.job_id,
    async run(rows) {
      const marked = await asyncCommit.query<{ job_id: string }>(MARK_SETTLED, [JSON.stringify(rows)])
      const ids = new Set(marked.map((row) => row.job_id))
      return rows.map((row) => ids.has(row.job_id))
    },
  })
  const judgeBy = (sql: string) =>
    batched<readonly ResultVerdict[], true>({
      async run(verdicts) {
        await asyncCommit.query(sql, [JSON.stringify(verdicts.flat().map(verdictRow))])
        return verdicts.map(() => true)
      },
    })
  const [judge, judgeAndCount] = [judgeBy(JUDGE), judgeBy(JUDGE_AND_COUNT)]
  return {
    read: async (quorumId) => (await read(quorumId)).state,
    async readEnd(assignmentId) {
      const { end } = await readEnd(assignmentId)
      if (end === null) throw new Error('The agreed result is missing.')
      return end
    },
    markSettled: (quorumId, { touches, issued }) => markSettled({ job_id: quorumId, touches, issued }),
    judgeLate: async (verdicts, isCounted) => void (await (isCounted ? judgeAndCount(verdicts) : judge(verdicts))),
  }
}

interface QuorumRow extends Omit<
  QuorumState,
  'classId' | 'replicasMax' | 'winnerId' | 'hasEnded' | 'isCounted' | 'acceptedAt' | 'deadlineAt'
> {
  has_ended: boolean
  is_counted: boolean
  winner_id: string | null
  job_id: string
  class_id: string
  replicas_max: number
  accepted_at: string
  deadline_at: string
}

const stateFrom = (row: QuorumRow): QuorumState => ({
  classId: Number(row.class_id),
  quorum: row.quorum,
  replicas: row.replicas,
  replicasMax: row.replicas_max,
  issued: row.issued,
  agree: row.agree,
  retries: row.retries,
  winnerId: row.winner_id === null ? null : Number(row.winner_id),
  hasEnded: row.has_ended,
  isCounted: row.is_counted,
  now: row.now,
  touches: row.touches,
  acceptedAt: row.accepted_at,
  deadlineAt: row.deadline_at,
  outstanding: row.outstanding,
  votes: row.votes,
})

/** The quorums that have not ended and for which no other process has issued replicas meanwhile. */
export async function claimIssues(
  tx: Queryable,
  wanted: readonly { quorumId: string; state: QuorumState; count: number }[],
): Promise<ReadonlySet<string>> {
  const rows = wanted.map(({ quorumId, state, count }) => ({
    job_id: quorumId,
    issued: state.issued,
    count,
    touches: state.touches,
  }))
  const claimed = await tx.query<{ job_id: string }>(CLAIM_ISSUES, [JSON.stringify(rows)])
  return new Set(claimed.map((row) => row.job_id))
}

const ENDS_MAX = 50 // an output has up to 5 MB

type EndRow = Omit<JobEnd, 'outputHash' | 'errorMessage' | 'artifactUri' | 'finishedAt'> & {
  assignment_id: string
  output_hash: string | null
  error_message: string | null
  artifact_uri: string | null
  finished_at: string
}

const endFrom = (row: EndRow): JobEnd => ({
  status: row.status,
  output: row.output,
  outputHash: row.output_hash,
  errorMessage: row.error_message,
  artifactUri: row.artifact_uri,
  metrics: row.metrics,
  finishedAt: row.finished_at,
})

export async function findUnsettled(database: Database, limit: number): Promise<string[]> {
  return (await database.query<{ job_id: string }>(UNSETTLED, [limit])).map((row) => row.job_id)
}

/** JSON texts by assignment, of those that are short enough to be compared. */
export async function readOutputs(database: Database, quorumId: string): Promise<ReadonlyMap<number, string>> {
  type Row = { assignment_id: string; output: string }
  const rows = await database.query<Row>(READ_OUTPUTS, [quorumId, COMPARED_BYTES_MAX])
  return new Map(rows.map((row) => [Number(row.assignment_id), row.output]))
}
