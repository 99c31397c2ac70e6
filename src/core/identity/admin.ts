// The first admin. An account named in the settings with a password has that password and the ADMIN role after every start.
// Without a password, the first start creates an account with a random one, which is shown once and stored only as a hash.
import type { Database, Tx } from '../db/database.ts'
import { newPassword } from '../random.ts'
import { findAccount, insertAccount, lockAdmins } from './accounts.ts'
import { isNewPassword, type Passwords } from './passwords/password.ts'
import { withPlayer } from './role.ts'
import { isUsername } from './username.ts'
import { StartError } from '../start-error.ts'

const HAS_ADMIN = `select exists (select from accounts where 'ADMIN' = any (roles) and is_active) as has`
const MAKE_ADMIN = `update accounts set roles = $2, is_active = true where account_id = $1`
const SET_PASSWORD = `update accounts set password_hash = $2 where account_id = $1`
const DELETE_TOKENS = `delete from tokens where account_id = $1`

const NAME_DEFAULT = 'admin'
const NAMES_MAX = 100

export interface AdminSettings {
  /** Empty: not set. */
  username: string
  password: string
}

export interface EnsuredAdmin {
  what: 'kept' | 'updated' | 'made'
  /** A new account with a random password, to be shown once. */
  created: { username: string; password: string } | null
}

const kept: EnsuredAdmin = { what: 'kept', created: null }

class InvalidAdmin extends StartError {
  override name = 'InvalidAdmin'
}

export async function ensureAdmin(
  database: Database,
  passwords: Passwords,
  settings: AdminSettings,
): Promise<EnsuredAdmin> {
  const username = settings.username === '' ? NAME_DEFAULT : settings.username
  if (!isUsername(username))
    throw new InvalidAdmin('REEVE_ADMIN_USERNAME: not a username of 1 to 120 visible characters')
  if (settings.password !== '') {
    if (!isNewPassword(settings.password)) throw new InvalidAdmin('REEVE_ADMIN_PASSWORD: expected 8 to 1024 characters')
    return ensureGiven(database, passwords, username, settings.password)
  }
  if (settings.username !== '') return ensureNamed(database, passwords, username)
  return ensureSome(database, passwords)
}

/** Hashes before the transaction, because hashing is slow. */
async function ensureGiven(database: Database, passwords: Passwords, username: string, password: string) {
  const before = await findAccount(database, username)
  const matches = before !== null && (await passwords.verify(before.passwordHash, password))
  const passwordHash = matches ? before.passwordHash : await passwords.hash(password)

  return database.transaction(async (tx): Promise<EnsuredAdmin> => {
    await lockAdmins(tx)
    const made = await insertAccount(tx, { username, passwordHash, roles: ['ADMIN'] })
    if (made !== null) return { what: 'made', created: null }

    await makeAdmin(tx, username)
    const known = await findAccount(tx, username)
    if (matches || known === null) return kept
    await tx.query(SET_PASSWORD, [known.account.accountId, passwordHash])
    await tx.query(DELETE_TOKENS, [known.account.accountId]) // logins with the old password end
    return { what: 'updated', created: null }
  })
}

async function ensureNamed(database: Database, passwords: Passwords, username: string): Promise<EnsuredAdmin> {
  const known = await findAccount(database, username)
  const password = newPassword()
  const passwordHash = known === null ? await passwords.hash(password) : known.passwordHash

  return database.transaction(async (tx) => {
    await lockAdmins(tx)
    const made = await insertAccount(tx, { username, passwordHash, roles: ['ADMIN'] })
    if (made !== null) return { what: 'made', created: { username, password } }
    await makeAdmin(tx, username)
    return kept
  })
}

/** No name in the settings: any admin is enough. An existing account named `admin` does not get the role. */
async function ensureSome(database: Database, passwords: Passwords): Promise<EnsuredAdmin> {
  if (await hasAdmin(database)) return kept
  const password = newPassword()
  const passwordHash = await passwords.hash(password)

  return database.transaction(async (tx) => {
    await lockAdmins(tx)
    if (await hasAdmin(tx)) return kept // another server created one
    for (let number = 1; number <= NAMES_MAX; number += 1) {
      const username = number === 1 ? NAME_DEFAULT : `${NAME_DEFAULT}-${number}`
      const made = await insertAccount(tx, { username, passwordHash, roles: ['ADMIN'] })
      if (made !== null) return { what: 'made', created: { username, password } }
    }
    throw new InvalidAdmin('There is no admin and the default names are taken: set REEVE_ADMIN_USERNAME')
  })
}

async function hasAdmin(on: Pick<Database, 'query'>): Promise<boolean> {
  const [row] = await on.query<{ has: boolean }>(HAS_ADMIN)
  return row?.has === true
}

async function makeAdmin(tx: Tx, username: string): Promise<void> {
  const known = await findAccount(tx, username)
  if (known === null) return
  const { accountId, roles, isActive } = known.account
  if (!roles.includes('ADMIN') || !isActive) await tx.query(MAKE_ADMIN, [accountId, withPlayer([...roles, 'ADMIN'])])
}
