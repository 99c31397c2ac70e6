// An account with a token, without a login: hashing a password costs more than most requests.
import type { Database } from '../../src/core/db/database.ts'
import { insertAccount } from '../../src/core/identity/accounts.ts'
import type { Role } from '../../src/core/identity/role.ts'
import { issueToken } from '../../src/core/identity/tokens.ts'

export interface BenchAccount {
  accountId: number
  username: string
  token: string
}

export async function addAccount(database: Database, username: string, roles: readonly Role[]): Promise<BenchAccount> {
  const account = await insertAccount(database, { username, passwordHash: 'none', roles: [...roles] })
  const issued = account === null ? null : await issueToken(database, { accountId: account.accountId, ttlSec: 3600 })
  if (account === null || issued === null) throw new Error('The account got no token.')
  return { accountId: account.accountId, username, token: issued.token }
}
