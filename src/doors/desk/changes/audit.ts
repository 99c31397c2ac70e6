// The audit trail: who saw, claimed, revealed, solved or stole what, and when, written by the transaction that did it. How long a
// task waited or was held is read from the task, so that a line is written before the change that it reports. A task ends once per
// job: the index captcha_audit_one_end_per_job refuses a second line about it.
import type { Queryable } from '../../../core/db/database.ts'
import type { Effect } from '../../../core/ledger/effects.ts'

const INSERT = `
  insert into captcha_audit (action, actor, uuid, job_id, domain, operator, detail, waited_ms, held_ms)
  select r.action, r.actor, r.uuid, t.job_id, coalesce(r.domain, t.domain), coalesce(r.operator, t.assigned_to), r.detail,
         extract(epoch from clock_timestamp() - t.unclaimed_since) * 1000,
         extract(epoch from clock_timestamp() - t.claimed_at) * 1000
    from json_to_recordset($1) as r (action text, actor text, uuid uuid, domain text, operator text, detail text)
    left join captcha_task t on t.uuid = r.uuid
      on conflict do nothing`

/** With the days that they are kept, and how many at most. What was done with a task that is still open stays. */
export const DELETE_OLD_LINES = `
  delete from captcha_audit where audit_id = any (array(
    select audit_id from captcha_audit a
     where at < statement_timestamp() - $1 * interval '1 day'
       and not exists (select from captcha_task t where t.uuid = a.uuid and t.ended_at is null)
     limit $2))
  returning true as deleted`

export const ACTIONS = [
  'created',
  'seen',
  'claimed',
  'renewed',
  'released',
  'lapsed',
  'stolen',
  'solving',
  'failed',
  'reopened',
  'solved',
  'unsolvable',
  'expired',
  'cancelled',
  'revealed',
  'cookies_shown',
  'framed',
  'reported_bad',
  'reported_good',
  'session_deleted',
  'domain_allowed',
  'domain_removed',
  'cleaned_up',
] as const

export type Action = (typeof ACTIONS)[number]

/** No field holds a secret: `detail` is a reason, a name or a count. */
export interface AuditLine {
  action: Action
  actor: string
  uuid?: string
  domain?: string
  operator?: string | null
  detail?: string | null
}

export const auditEffect = (line: AuditLine): Effect => ({ sql: INSERT, row: line })

export const audit = async (on: Queryable, line: AuditLine): Promise<void> =>
  void (await on.query(INSERT, [JSON.stringify([line])]))
