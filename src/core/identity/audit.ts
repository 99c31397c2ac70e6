// The audit trail: sign-ins, changes of roles and passwords, and the use of API keys. A row is written in the transaction of
// what it records, where there is one. It contains no secret.
import type { Queryable } from '../db/database.ts'

const INSERT = `
  insert into audit_events (account_id, actor_id, event, detail, address) values ($1, nullif($2, 0), $3, $4, $5)`
const LIST = `
  select e.audit_id, e.account_id, a.username, e.actor_id, actor.username as actor, e.event, e.detail, e.address, e.created_at
    from audit_events e
    left join accounts a using (account_id)
    left join accounts actor on actor.account_id = e.actor_id
   where ($1::bigint is null or e.account_id = $1) and e.audit_id < $2
   order by e.audit_id desc limit $3`
/** With the days that they are kept, and how many at most. */
export const DELETE_OLD_AUDITS = `
  delete from audit_events where audit_id = any (array(
    select audit_id from audit_events where created_at < statement_timestamp() - $1 * interval '1 day' limit $2))
  returning true as deleted`

const AUDIT_EVENTS = [
  'account_created',
  'signed_in',
  'sign_in_failed',
  'signed_out',
  'session_revoked',
  'password_changed',
  'password_reset',
  'password_link_created',
  'password_link_used',
  'roles_changed',
  'account_closed',
  'account_reopened',
  'account_deleted',
  'api_key_created',
  'api_key_revoked',
  'api_key_used',
] as const

export type AuditEventName = (typeof AUDIT_EVENTS)[number]

export interface NewAuditEvent {
  accountId: number
  event: AuditEventName
  /** Default: the account itself. 0: a command on the server's machine. */
  actorId?: number
  detail?: object
  address?: string
}

export interface AuditEvent {
  auditId: number
  accountId: number
  /** Null: the account is gone. */
  username: string | null
  actorId: number | null
  actor: string | null
  event: string
  detail: unknown
  address: string
  createdAt: Date
}

export async function writeAudit(on: Queryable, audit: NewAuditEvent): Promise<void> {
  const { accountId, actorId = null, event, detail, address = '' } = audit
  await on.query(INSERT, [accountId, actorId, event, detail === undefined ? null : JSON.stringify(detail), address])
}

export interface AuditPage {
  accountId: number | null
  before: number
  limit: number
}

/** Newest first. */
export async function listAudit(on: Queryable, { accountId, before, limit }: AuditPage): Promise<AuditEvent[]> {
  return (await on.query<AuditRow>(LIST, [accountId, before, limit])).map((row) => ({
    auditId: Number(row.audit_id),
    accountId: Number(row.account_id),
    username: row.username,
    actorId: row.actor_id === null ? null : Number(row.actor_id),
    actor: row.actor,
    event: row.event,
    detail: row.detail,
    address: row.address,
    createdAt: row.created_at,
  }))
}

interface AuditRow {
  audit_id: string
  account_id: string
  username: string | null
  actor_id: string | null
  actor: string | null
  event: string
  detail: unknown
  address: string
  created_at: Date
}
