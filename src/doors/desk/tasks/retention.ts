// A task is the record of what an operator did, and is kept with its job. Its solution and pictures go after CAPTCHA_KEEP_HOURS.
import type { ReleaseOld } from '../../../core/ledger/prune.ts'

const WITHOUT_TASK = `
  select asked.job_id from unnest($1::uuid[]) as asked (job_id)
   where not exists (select from captcha_task t where t.job_id = asked.job_id)`

export const releaseTaskless: ReleaseOld = async (tx, jobIds) =>
  (await tx.query<{ job_id: string }>(WITHOUT_TASK, [jobIds])).map((row) => row.job_id)
