// Deletes an account: its name, password, roles, logins, API keys and link are gone. The row stays under the name
// `deleted-<id>`, because receipts, matches, submissions, jobs and the audit trail name its id and outlive it.
import type { Database } from '../db/database.ts'
import { refused, type Refused } from '../values/outcome.ts'
import {
  changeAccount,
  type AccountChange,
  type AccountRow,
  type ActiveListener,
  type ChangeAnswer,
} from './accounts.ts'

// One statement for what belongs to the account alone.
const DELETE_SECRETS = `
  with tokens as (delete from tokens where account_id = $1),
       links as (delete from password_links where account_id = $1)
  delete from api_keys where account_id = $1`
const UPDATE = `
  update accounts
     set username = 'deleted-' || account_id, username_key = 'DELETED-' || account_id, password_hash = '',
         roles = array['PLAYER'], is_active = false, deleted_at = clock_timestamp()
   where account_id = $1
  returning account_id, username, roles, is_active, created_at`

/** In order of precedence: own_account, then those of any change. */
export type DeleteAnswer = ChangeAnswer | Refused<'own_account'>

/** Doors are told that the account closes. */
export async function deleteAccount(
  database: Database,
  target: AccountChange,
  listeners: readonly ActiveListener[],
): Promise<DeleteAnswer> {
  if (target.accountId === target.actorId) return refused('own_account')
  return changeAccount(database, target, {
    audit: { event: 'account_deleted' },
    keepsAdmin: false,
    update: async (tx) => {
      for (const listener of listeners) await listener(tx, target.accountId, false)
      await tx.query(DELETE_SECRETS, [target.accountId])
      return tx.query<AccountRow>(UPDATE, [target.accountId])
    },
  })
}
