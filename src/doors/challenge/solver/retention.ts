// With an old job goes the request that it solved: the same challenge would be a new request then.
import type { ReleaseOld } from '../../../core/ledger/prune.ts'

const DELETE_OLD = `delete from solve_requests where job_id = any($1::uuid[]) and status <> 'pending'`

export const releaseRequests: ReleaseOld = async (tx, jobIds) => {
  await tx.query(DELETE_OLD, [jobIds])
  return jobIds
}
