// With an old job go its assignments and results. Receipts stay: each holds all that its hash and signature cover, and the hash of the
// one before, so that the chain can be verified whatever was deleted.
import type { ReleaseOld } from '../../../core/ledger/prune.ts'

// By both partial indexes of a job's results: a plain condition on job_id would read the whole table.
const RESULTS = `
  (select assignment_id, job_id from pool_results where is_final and job_id = any($1::uuid[])
   union all select assignment_id, job_id from pool_results where not is_final and job_id = any($1::uuid[]))`

// A replica stays while its quorum is there, and a result until its receipt is written.
const RELEASABLE = `
  select asked.job_id from unnest($1::uuid[]) as asked (job_id)
   where not exists (select from pool_parts p join pool_quorums q on q.job_id = p.quorum_id where p.job_id = asked.job_id)
     and not exists (select from ${RESULTS} as r where r.job_id = asked.job_id
                        and not exists (select from pool_receipts c where c.assignment_id = r.assignment_id))`

const DELETE_RESULTS = `
  delete from pool_results where assignment_id = any(array(select assignment_id from ${RESULTS} as r))`
const DELETE_ASSIGNMENTS = `delete from pool_assignments where job_id = any($1::uuid[])`
const DELETE_PARTS = `delete from pool_parts where job_id = any($1::uuid[])`
const DELETE_QUORUMS = `delete from pool_quorums where job_id = any($1::uuid[]) and ended_at is not null returning job_id`

// The hash, the signature and the receipt stay. While a quorum is open its replicas' outputs are compared.
const FORGET_OUTPUTS = `
  update pool_results r set output = null, metrics = null
   where r.assignment_id = any(array(select assignment_id from ${RESULTS} as mine)) and (r.output is not null or r.metrics is not null)
     and exists (select from pool_receipts c where c.assignment_id = r.assignment_id)
     and not exists (select from pool_quorums q where q.job_id = r.quorum_id and q.ended_at is null)`

/** What the ledger has of a result are the worker, the status and the hash: that stays. */
export const forgetOutputs: ReleaseOld = async (tx, jobIds) => {
  await tx.query(FORGET_OUTPUTS, [jobIds])
  return []
}

export const releaseTasks: ReleaseOld = async (tx, jobIds) => {
  const gone = (await tx.query<{ job_id: string }>(RELEASABLE, [jobIds])).map((row) => row.job_id)
  for (const sql of [DELETE_RESULTS, DELETE_ASSIGNMENTS, DELETE_PARTS]) await tx.query(sql, [gone])
  return gone
}

/** Its replicas go with the next pass. */
export const releaseQuorums: ReleaseOld = async (tx, jobIds) =>
  (await tx.query<{ job_id: string }>(DELETE_QUORUMS, [jobIds])).map((row) => row.job_id)
