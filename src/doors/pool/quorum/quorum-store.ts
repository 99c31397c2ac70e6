// A replicated job and what its replicas have brought so far, in one snapshot.
import { batched } from '../../../core/db/batch.ts'
import type { Database, Queryable } from '../../../core/db/database.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import type { JobEnd } from '../clients/callbacks.ts'
import { moment } from '../moment.ts'
import type { PoolPayload } from '../tasks/payload.ts'

const INSERT = `
  insert into pool_quorums (job_id, lane_id, quorum, replicas, replicas_max, deadline_at)
  select job_id, lane_id, quorum, replicas, replicas_max, clock_timestamp() + timeout_seconds * interval '1 second'
    from json_to_recordset($1) as r (job_id uuid, lane_id bigint, quorum smallint, replicas smallint, replicas_max smallint,
         timeout_seconds integer)`

// Votes and tasks together: a replica that ends between two looks would be in neither.
const READ = `
  select q.job_id, q.lane_id, q.quorum, q.replicas, q.replicas_max, q.issued, q.vote, q.touches,
         ${moment('q.accepted_at')} as accepted_at, ${moment('q.deadline_at')} as deadline_at,
         array(select t.job_id from pool_tasks t where t.quorum_id = q.job_id) as outstanding,
         coalesce((select json_agg(json_build_object('assignment_id', r.assignment_id, 'vote', r.vote,
                                                     'counts', w.banned_at is null) order by r.finished_at, r.assignment_id)
                     from pool_results r join pool_workers w on w.worker_id = r.worker_id
                    where r.quorum_id = q.job_id), '[]') as votes
    from pool_quorums q where q.job_id = any($1::uuid[])`

// Rows are locked in the order of their ids, as wherever several of them change in one statement.
const CLAIM_ISSUES = `
  with asked as materialized (
    select * from json_to_recordset($1) as r (job_id uuid, issued smallint, count smallint, touches integer)
  ), locked as materialized (
    select job_id from pool_quorums where job_id in (select job_id from asked) order by job_id for no key update
  )
  update pool_quorums q set issued = q.issued + asked.count, settled = asked.touches
    from locked join asked on asked.job_id = locked.job_id
   where q.job_id = locked.job_id and q.issued = asked.issued
  returning q.job_id`

const MARK_SETTLED = `
  with asked as materialized (
    select * from json_to_recordset($1) as r (job_id uuid, touches integer)
  ), locked as materialized (
    select job_id from pool_quorums where job_id in (select job_id from asked) order by job_id for no key update
  )
  update pool_quorums q set settled = greatest(q.settled, asked.touches)
    from locked join asked on asked.job_id = locked.job_id where q.job_id = locked.job_id`

const DECIDE = `
  with decided as (select * from json_to_recordset($1) as r (job_id uuid, vote text)), gone as (
    delete from pool_parts using decided where pool_parts.quorum_id = decided.job_id
  )
  update pool_quorums set vote = decided.vote from decided where pool_quorums.job_id = decided.job_id`

// Who said the same as the others, and who did not. To say that it cannot be done is neither. Each result is judged once.
const JUDGE = `
  with decided as (select * from json_to_recordset($1) as r (job_id uuid, vote text)), judged as (
    update pool_results r set verdict = case when r.vote = decided.vote then 'agreed' else 'disagreed' end
      from decided where r.quorum_id = decided.job_id and r.verdict is null and r.status = 'completed'
    returning r.worker_id, r.verdict
  ), counted as materialized (
    select worker_id, count(*) filter (where verdict = 'agreed') as agreed,
           count(*) filter (where verdict = 'disagreed') as disagreed
      from judged group by worker_id
  ), locked as materialized (
    select w.worker_id from counted join pool_workers w on w.worker_id = counted.worker_id
     order by w.worker_id for no key update of w
  )
  update pool_workers w
     set agreed = w.agreed + counted.agreed, disagreed = w.disagreed + counted.disagreed,
         proven = case when counted.disagreed > 0 then 0 else w.proven end
    from locked join counted on counted.worker_id = locked.worker_id where w.worker_id = locked.worker_id`

const TOUCH_VOTED = `
  with voted as materialized (
    select distinct q.job_id from json_to_recordset($1) as asked (worker_id bigint)
      join pool_results r on r.worker_id = asked.worker_id and r.verdict is null and r.quorum_id is not null
      join pool_quorums q on q.job_id = r.quorum_id and q.vote is null
  ), locked as materialized (
    select job_id from pool_quorums where job_id in (select job_id from voted) order by job_id for no key update
  )
  update pool_quorums q set touches = touches + 1 from locked where q.job_id = locked.job_id`

const READ_END = `
  select status, output::text as output, output_hash, error_message, artifact_uri, metrics::text as metrics,
         ${moment('finished_at')} as finished_at
    from pool_results where assignment_id = $1`

const UNSETTLED = `select job_id from pool_quorums where touches > settled order by job_id limit $1`

export interface QuorumState {
  laneId: number
  quorum: number
  replicas: number
  replicasMax: number
  issued: number
  vote: string | null
  touches: number
  acceptedAt: string
  deadlineAt: string
  outstanding: string[]
  votes: { assignment_id: number; vote: string | null; counts: boolean }[]
}

/** With the submit of its job. */
export const addQuorum = (jobId: string, payload: PoolPayload, extraReplicas: number): Effect => ({
  sql: INSERT,
  row: {
    job_id: jobId,
    lane_id: payload.lane_id,
    quorum: payload.quorum,
    replicas: payload.replicas,
    replicas_max: payload.replicas + extraReplicas,
    timeout_seconds: payload.timeout_seconds,
  },
})

export const decideEffect = (jobId: string, vote: string): Effect => ({ sql: DECIDE, row: { job_id: jobId, vote } })
export const judgeEffect = (jobId: string, vote: string): Effect => ({ sql: JUDGE, row: { job_id: jobId, vote } })

/** A worker is banned: every undecided quorum in which it has voted is to be looked at again. */
export const touchVotesOf = (workerId: number): Effect => ({ sql: TOUCH_VOTED, row: { worker_id: workerId } })

export interface QuorumStore {
  read(quorumId: string): Promise<QuorumState | null>
  markSettled(quorumId: string, touches: number): Promise<void>
  /** Results that came after the decision. */
  judgeLate(quorumId: string, vote: string): Promise<void>
}

/** Calls that come together share a statement. */
export function openQuorumStore({ hot }: Database): QuorumStore {
  const read = batched<string, { state: QuorumState | null }>({
    async run(quorumIds) {
      const rows = await hot.query<QuorumRow>(READ, [quorumIds])
      const stateOf = new Map(rows.map((row) => [row.job_id, stateFrom(row)]))
      return quorumIds.map((quorumId) => ({ state: stateOf.get(quorumId) ?? null }))
    },
  })
  const write = (sql: string) =>
    batched<{ job_id: string }, true>({
      keyOf: (row) => row.job_id,
      async run(rows) {
        await hot.query(sql, [JSON.stringify(rows)])
        return rows.map(() => true)
      },
    })
  const [markSettled, judgeLate] = [write(MARK_SETTLED), write(JUDGE)]
  return {
    read: async (quorumId) => (await read(quorumId)).state,
    async markSettled(quorumId, touches) {
      const row = { job_id: quorumId, touches }
      await markSettled(row)
    },
    async judgeLate(quorumId, vote) {
      const row = { job_id: quorumId, vote }
      await judgeLate(row)
    },
  }
}

interface QuorumRow extends Omit<QuorumState, 'laneId' | 'replicasMax' | 'acceptedAt' | 'deadlineAt'> {
  job_id: string
  lane_id: string
  replicas_max: number
  accepted_at: string
  deadline_at: string
}

const stateFrom = (row: QuorumRow): QuorumState => ({
  laneId: Number(row.lane_id),
  quorum: row.quorum,
  replicas: row.replicas,
  replicasMax: row.replicas_max,
  issued: row.issued,
  vote: row.vote,
  touches: row.touches,
  acceptedAt: row.accepted_at,
  deadlineAt: row.deadline_at,
  outstanding: row.outstanding,
  votes: row.votes,
})

/** Those that nobody else has issued for meanwhile. */
export async function claimIssues(
  tx: Queryable,
  asked: readonly { quorumId: string; state: QuorumState; count: number }[],
): Promise<ReadonlySet<string>> {
  const rows = asked.map(({ quorumId, state, count }) => ({
    job_id: quorumId,
    issued: state.issued,
    count,
    touches: state.touches,
  }))
  const claimed = await tx.query<{ job_id: string }>(CLAIM_ISSUES, [JSON.stringify(rows)])
  return new Set(claimed.map((row) => row.job_id))
}

export async function readEnd(database: Database, assignmentId: number): Promise<JobEnd> {
  type Row = Omit<JobEnd, 'outputHash' | 'errorMessage' | 'artifactUri' | 'finishedAt'> & {
    output_hash: string | null
    error_message: string | null
    artifact_uri: string | null
    finished_at: string
  }
  const [row] = await database.query<Row>(READ_END, [assignmentId])
  if (row === undefined) throw new Error('A result that was counted is not there.')
  const { output_hash: outputHash, error_message: errorMessage, artifact_uri: artifactUri, ...rest } = row
  return { ...rest, outputHash, errorMessage, artifactUri, finishedAt: row.finished_at }
}

export async function findUnsettled(database: Database, limit: number): Promise<string[]> {
  return (await database.query<{ job_id: string }>(UNSETTLED, [limit])).map((row) => row.job_id)
}
