// A submission is kept for ever, with its job, unless SUBMISSIONS_KEPT_DAYS says otherwise. The job of a run with its author's own input
// has no submission and goes when it is old.
import type { ReleaseOld } from '../../../core/ledger/prune.ts'

const DELETE_OLD = `
  delete from judge_submissions s
   where s.job_id = any($1::uuid[]) and $2 > 0 and s.finished_at < statement_timestamp() - $2 * interval '1 day'`

const WITHOUT_SUBMISSION = `
  select asked.job_id from unnest($1::uuid[]) as asked (job_id)
   where not exists (select from judge_submissions s where s.job_id = asked.job_id)`

export const releaseSubmissions =
  (keptDays: number): ReleaseOld =>
  async (tx, jobIds) => {
    await tx.query(DELETE_OLD, [jobIds, keptDays])
    return (await tx.query<{ job_id: string }>(WITHOUT_SUBMISSION, [jobIds])).map((row) => row.job_id)
  }
