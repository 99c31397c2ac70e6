// A login, or the creation of an API key, against what ends the logins of the account: in either order nothing of it is left.
// One server, an account for each race.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { ADMIN, newAccount, PASSWORD, startReeve, tokenOf } from '../support/reeve.ts'
import { servedInOrder } from './contest.ts'

const LOCK_ACCOUNT = `select from accounts where account_id = $1 for update`
const NEW_PASSWORD = 'another password'

const COUNT_LEFT = `
  select (select count(*)::integer from tokens where account_id = $1) as tokens,
         (select count(*)::integer from api_keys where account_id = $1 and revoked_at is null) as keys`

/** The status of the answer. */
type Ask = (path: string, method: 'POST' | 'PUT', body: unknown, token?: string) => Promise<number>
type Call = (ask: Ask, ann: Ann) => Promise<number>

interface Ann {
  accountId: number
  username: string
  token: string
  adminToken: string
}

const logIn: Call = (ask, { username }) => ask('/auth/login', 'POST', { username, password: PASSWORD })
const signIn: Call = (ask, { username }) => ask('/auth/session', 'POST', { username, password: PASSWORD })
const createKey: Call = (ask, { token }) => ask('/auth/api-keys', 'POST', { name: 'k' }, token)

const reset: Call = (ask, { accountId, adminToken }) =>
  ask(`/admin/users/${accountId}/password`, 'PUT', { password: NEW_PASSWORD }, adminToken)
const close: Call = (ask, { accountId, adminToken }) =>
  ask(`/admin/users/${accountId}/active`, 'PUT', { active: false }, adminToken)
const change: Call = (ask, { token }) =>
  ask('/auth/password', 'POST', { current_password: PASSWORD, new_password: NEW_PASSWORD }, token)

let accounts = 0

async function setup(t: TestContext) {
  const server = await startReeve(t, { doors: 'judge' })
  const { token: adminToken } = await tokenOf(server.url, ADMIN.username)
  const ask: Ask = async (path, method, body, token) => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
    const headers = { 'content-type': 'application/json', ...authorization }
    const request = { method, headers, body: JSON.stringify(body) }
    const response = await fetch(`${server.url}${path}`, request)
    await response.arrayBuffer()
    return response.status
  }
  return async (...calls: readonly Call[]) => {
    const ann = { ...(await newAccount(server.url, `ann-${(accounts += 1)}`)), adminToken }
    const order = { lock: LOCK_ACCOUNT, id: ann.accountId, calls: calls.map((call) => () => call(ask, ann)) }
    const statuses = await servedInOrder(server, order)
    const [left] = await server.database.query<{ tokens: number; keys: number }>(COUNT_LEFT, [ann.accountId])
    return { statuses, left }
  }
}

test('no login or new API key survives a race with a password reset, a password change or closing the account', async (t) => {
  const race = await setup(t)
  const RACES: readonly (readonly [string, readonly Call[], Awaited<ReturnType<typeof race>>])[] = [
    ['a reset before a verified login', [reset, logIn], { statuses: [204, 401], left: { tokens: 0, keys: 0 } }],
    ['a reset before a login with a cookie', [reset, signIn], { statuses: [204, 401], left: { tokens: 0, keys: 0 } }],
    ['a reset after a login', [logIn, reset], { statuses: [200, 204], left: { tokens: 0, keys: 0 } }],
    ['a close before a verified login', [close, logIn], { statuses: [200, 401], left: { tokens: 0, keys: 0 } }],
    ['a close after a login', [logIn, close], { statuses: [200, 200], left: { tokens: 0, keys: 0 } }],
    // The login that changes the password stays.
    ['a change before a verified login', [change, logIn], { statuses: [204, 401], left: { tokens: 1, keys: 0 } }],
    ['a change after a login', [logIn, change], { statuses: [200, 204], left: { tokens: 1, keys: 0 } }],
    ['a change after a close', [close, change], { statuses: [200, 403], left: { tokens: 0, keys: 0 } }],
    ['a reset before a new API key', [reset, createKey], { statuses: [204, 401], left: { tokens: 0, keys: 0 } }],
    ['a close before a new API key', [close, createKey], { statuses: [200, 401], left: { tokens: 0, keys: 0 } }],
    ['a close after a new API key', [createKey, close], { statuses: [201, 200], left: { tokens: 0, keys: 0 } }],
  ]
  for (const [name, calls, expected] of RACES) {
    await t.test(name, async () => assert.deepEqual(await race(...calls), expected))
  }
})
