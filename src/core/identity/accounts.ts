import type { Database, Queryable, Tx } from '../db/database.ts'
import { refused, type Refused } from '../values/outcome.ts'
import { writeAudit, type NewAuditEvent } from './audit.ts'
import { isRole, withPlayer, type Role } from './role.ts'
import { usernameKey } from './username.ts'

const COLUMNS = `account_id, username, roles, is_active, created_at`

const INSERT = `
  insert into accounts (username, username_key, password_hash, roles) values ($1, $2, $3, $4)
      on conflict (username_key) do nothing
  returning ${COLUMNS}`
// A guest has no password and cannot be named.
const SELECT_BY_NAME = `
  select ${COLUMNS}, password_hash from accounts where username_key = $1 and not is_guest`
const INSERT_GUEST = `
  insert into accounts (account_id, username, username_key, password_hash, roles, is_guest)
  overriding system value
  select id, 'guest-' || id, 'guest-' || id, '', array['PLAYER'], true
    from nextval(pg_get_serial_sequence('accounts', 'account_id')) as id
      on conflict (username_key) do nothing
  returning ${COLUMNS}`
const CLOSE_GUESTS = `
  update accounts set is_active = false
   where account_id = any (array(
     select account_id from accounts a
      where is_guest and is_active and created_at < statement_timestamp() - interval '1 day'
        and not exists (select from tokens t where t.account_id = a.account_id and t.expires_at > statement_timestamp())
      limit $1))
  returning true as closed`
const LIST = `
  select ${COLUMNS} from accounts where account_id > $1 and deleted_at is null order by account_id limit $2`
const LIST_BY_NAME = `
  select ${COLUMNS} from accounts
   where account_id > $1 and username_key ~>=~ $3::text and username_key ~<~ ($3::text || chr(1114111))
   order by account_id limit $2`

// An arbitrary lock number: transactions that may remove the last admin or create the first one run one at a time.
const ADMINS_LOCK = 7_305_803
const LOCK_ADMINS = `select pg_advisory_xact_lock(${ADMINS_LOCK})`
const HAS_OTHER_ADMIN = `
  select exists (select from accounts where 'ADMIN' = any (roles) and is_active and account_id <> $1) as other`
const LOCK_ACCOUNT = `select ${COLUMNS} from accounts where account_id = $1 and deleted_at is null for update`
const UPDATE_ROLES = `update accounts set roles = $2 where account_id = $1 returning ${COLUMNS}`
const UPDATE_ACTIVE = `update accounts set is_active = $2 where account_id = $1 returning ${COLUMNS}`
const DELETE_TOKENS = `delete from tokens where account_id = $1`
const DELETE_LINK = `delete from password_links where account_id = $1`
const REVOKE_API_KEYS = `
  update api_keys set revoked_at = clock_timestamp() where account_id = $1 and revoked_at is null`

export interface Account {
  accountId: number
  username: string
  roles: readonly Role[]
  isActive: boolean
  createdAt: Date
}

export interface AccountRow {
  account_id: string
  username: string
  roles: string[]
  is_active: boolean
  created_at: Date
}

export const accountFrom = (row: AccountRow): Account => ({
  accountId: Number(row.account_id),
  username: row.username,
  roles: row.roles.filter(isRole),
  isActive: row.is_active,
  createdAt: row.created_at,
})

export interface NewAccount {
  username: string
  passwordHash: string
  roles: readonly Role[]
}

/** Null: the name is taken. */
export async function insertAccount(on: Queryable, account: NewAccount): Promise<Account | null> {
  const { username, passwordHash, roles } = account
  const [row] = await on.query<AccountRow>(INSERT, [username, usernameKey(username), passwordHash, withPlayer(roles)])
  return row === undefined ? null : accountFrom(row)
}

export async function findAccount(
  on: Queryable,
  username: string,
): Promise<{ account: Account; passwordHash: string } | null> {
  type Found = AccountRow & { password_hash: string }
  const [row] = await on.query<Found>(SELECT_BY_NAME, [usernameKey(username)])
  return row === undefined ? null : { account: accountFrom(row), passwordHash: row.password_hash }
}

/** Null: somebody has registered that name. */
export async function insertGuest(on: Queryable): Promise<Account | null> {
  const [row] = await on.query<AccountRow>(INSERT_GUEST)
  return row === undefined ? null : accountFrom(row)
}

/** Others may have such a name too; it spares asking the database about everybody else. */
export const hasGuestName = (username: string): boolean => username.startsWith('guest-')

export const closeGuests = async (on: Queryable, limit: number): Promise<number> =>
  (await on.query(CLOSE_GUESTS, [limit])).length

export interface AccountPage {
  after: number
  limit: number
  /** Only names that begin with this, compared as names are. Default: all. */
  namePrefix?: string
}

export async function listAccounts(on: Queryable, { after, limit, namePrefix = '' }: AccountPage): Promise<Account[]> {
  const prefix = usernameKey(namePrefix)
  const rows = await (prefix === ''
    ? on.query<AccountRow>(LIST, [after, limit])
    : on.query<AccountRow>(LIST_BY_NAME, [after, limit, prefix]))
  return rows.map(accountFrom)
}

export const lockAdmins = async (tx: Tx): Promise<void> => void (await tx.query(LOCK_ADMINS))

/** In order of precedence. */
export type ChangeRefusal = 'unknown_account' | 'last_admin'
export type ChangeAnswer = { ok: true; account: Account } | Refused<ChangeRefusal>

export interface AccountChange {
  accountId: number
  /** Who changes it. Undefined: a command on the server's machine. */
  actorId?: number
}

export const setRoles = (database: Database, target: AccountChange, roles: readonly Role[]): Promise<ChangeAnswer> =>
  changeAccount(database, target, {
    audit: { event: 'roles_changed', detail: { roles: withPlayer(roles) } },
    keepsAdmin: roles.includes('ADMIN'),
    update: (tx) => tx.query<AccountRow>(UPDATE_ROLES, [target.accountId, withPlayer(roles)]),
  })

/** Runs in the transaction that closes or reopens an account. */
export type ActiveListener = (tx: Tx, accountId: number, isActive: boolean) => Promise<void>

/** Closing an account also deletes its tokens and revokes its API keys, so that reopening it does not restore them. */
export const setActive = (
  database: Database,
  target: AccountChange,
  active: boolean,
  listeners: readonly ActiveListener[] = [],
): Promise<ChangeAnswer> =>
  changeAccount(database, target, {
    audit: { event: active ? 'account_reopened' : 'account_closed' },
    keepsAdmin: active,
    update: async (tx) => {
      if (!active) {
        await tx.query(DELETE_TOKENS, [target.accountId])
        await tx.query(DELETE_LINK, [target.accountId])
        await tx.query(REVOKE_API_KEYS, [target.accountId])
      }
      for (const listener of listeners) await listener(tx, target.accountId, active)
      return tx.query<AccountRow>(UPDATE_ACTIVE, [target.accountId, active])
    },
  })

/** Never takes the role from the last admin, and writes the audit trail. */
export async function changeAccount(
  database: Database,
  { accountId, actorId }: AccountChange,
  what: {
    keepsAdmin: boolean
    audit: Pick<NewAuditEvent, 'event' | 'detail'>
    update(tx: Tx): Promise<AccountRow[]>
  },
): Promise<ChangeAnswer> {
  return database.transaction(async (tx) => {
    await lockAdmins(tx)
    const [before] = await tx.query<AccountRow>(LOCK_ACCOUNT, [accountId])
    if (before === undefined) return refused('unknown_account')

    const isAdmin = before.roles.includes('ADMIN') && before.is_active
    if (isAdmin && !what.keepsAdmin) {
      const [row] = await tx.query<{ other: boolean }>(HAS_OTHER_ADMIN, [accountId])
      if (row?.other !== true) return refused('last_admin')
    }
    const [after] = await what.update(tx)
    if (after === undefined) return refused('unknown_account')
    await writeAudit(tx, { accountId, ...(actorId === undefined ? {} : { actorId }), ...what.audit })
    return { ok: true, account: accountFrom(after) }
  })
}
