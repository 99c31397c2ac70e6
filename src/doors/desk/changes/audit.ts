// The trail: who saw, claimed, revealed, solved, stole what and when, written by the transaction that did it. How long a
// task had waited or been held is read from the task as it was, so that a line goes before the change that it is about.
import type { Queryable } from '../../../core/db/database.ts'
import type { Effect } from '../../../core/ledger/effects.ts'

export const AUDIT = `
  insert into captcha_audit (action, actor, uuid, domain, operator, detail, waited_ms, held_ms)
  select r.action, r.actor, r.uuid, coalesce(r.domain, t.domain), coalesce(r.operator, t.assigned_to), r.detail,
         extract(epoch from clock_timestamp() - t.unclaimed_since) * 1000,
         extract(epoch from clock_timestamp() - t.claimed_at) * 1000
    from json_to_recordset($1) as r (action text, actor text, uuid uuid, domain text, operator text, detail text)
    left join captcha_task t on t.uuid = r.uuid
      on conflict do nothing`

const LIST = `
  select audit_id, at, action, actor, uuid, domain, operator, detail, waited_ms, held_ms from captcha_audit
   where ($1::uuid is null or uuid = $1) and ($2::text is null or actor = $2) and ($3::text is null or action = $3)
     and ($4::bigint is null or audit_id < $4)
   order by audit_id desc limit $5`

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

/** In no field is there ever a secret: `detail` is a reason, a name, a count. */
export interface AuditLine {
  action: Action
  actor: string
  uuid?: string
  domain?: string
  operator?: string | null
  detail?: string | null
}

export const auditEffect = (line: AuditLine): Effect => ({ sql: AUDIT, row: line })

export const audit = async (on: Queryable, line: AuditLine): Promise<void> =>
  void (await on.query(AUDIT, [JSON.stringify([line])]))

export interface AuditRow {
  audit_id: string
  at: Date
  action: Action
  actor: string
  uuid: string | null
  domain: string | null
  operator: string | null
  detail: string | null
  waited_ms: string | null
  held_ms: string | null
}

export interface AuditFilter {
  uuid?: string | undefined
  actor?: string | undefined
  action?: string | undefined
  before?: number | undefined
  limit: number
}

export const listAudit = (on: Queryable, { uuid, actor, action, before, limit }: AuditFilter): Promise<AuditRow[]> =>
  on.query<AuditRow>(LIST, [uuid ?? null, actor ?? null, action ?? null, before ?? null, limit])
