import assert from 'node:assert/strict'
import type { Queryable } from '../../src/core/db/database.ts'
import { issueToken } from '../../src/core/identity/tokens.ts'

const TOKEN_SEC = 86_400 // longer than any test

/** A token as a login returns it, without the hashing of a password. */
export async function loginOf(database: Queryable, accountId: number): Promise<string> {
  const issued = await issueToken(database, { accountId, ttlSec: TOKEN_SEC })
  assert(issued !== null, `account ${accountId} is not there, or closed`)
  return issued.token
}
