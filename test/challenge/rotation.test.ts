// Keys are rotated under load, in both directions: no request is refused.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { migrationFolders } from '../../src/doors/outline.ts'
import { account, CHAL_KEY, post, postSigned, solveBody, SOLVER_KEY, startServer } from '../contract/challenge/setup.ts'
import { freshDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const CLIENTS = 6
const REQUESTS_PER_PHASE = 30
const LATER = '@2999-01-01T00:00:00Z'
const OVER = '@2020-01-01T00:00:00Z'
const NEW_SOLVER_KEY = { keyId: 'solver-kid-2', secret: 'a new secret' }
const NEW_CHAL_KEY = { keyId: 'chal-kid-2', secret: 'another new secret' }

const asExtra = ({ keyId, secret }: { keyId: string; secret: string }, until: string) => `${keyId}=${secret}${until}`

/** The settings of each phase: the documented way from an old key to a new one. */
const OLD = {}
const OLD_KNOWS_NEW = {
  SOLVER_HMAC_EXTRA_KEYS: asExtra(NEW_SOLVER_KEY, LATER),
  CHAL_HMAC_EXTRA_KEYS: asExtra(NEW_CHAL_KEY, LATER),
}
const NEW = {
  SOLVER_HMAC_KEY_ID: NEW_SOLVER_KEY.keyId,
  SOLVER_HMAC_SECRET: NEW_SOLVER_KEY.secret,
  CHAL_HMAC_KEY_ID: NEW_CHAL_KEY.keyId,
  CHAL_HMAC_SECRET: NEW_CHAL_KEY.secret,
}
const NEW_KNOWS_OLD = {
  ...NEW,
  SOLVER_HMAC_EXTRA_KEYS: asExtra(SOLVER_KEY, LATER),
  CHAL_HMAC_EXTRA_KEYS: asExtra(CHAL_KEY, LATER),
}
const OLD_IS_OVER = {
  ...NEW,
  SOLVER_HMAC_EXTRA_KEYS: asExtra(SOLVER_KEY, OVER),
  CHAL_HMAC_EXTRA_KEYS: asExtra(CHAL_KEY, OVER),
}

async function setup(t: TestContext) {
  const at = await freshDatabase(migrationFolders())
  const begin = (env: Record<string, string>) => startServer(t, { on: at, role: 'serve', env })
  let server = await begin(OLD)
  const owner = await account(server.url, 'owner')
  const challenge = {
    challenge_id: 'c',
    problem: { type: 'text' },
    validation_rule: { type: 'ExactMatch' },
    answer: '',
  }
  await post(`${server.url}/challenges`, JSON.stringify(challenge), owner)

  const underWay = new Map<string, number>()
  /** To the current server. */
  const send = async (path: string, body: object, key: typeof SOLVER_KEY): Promise<number> => {
    const { url } = server
    const count = (by: number) => underWay.set(url, (underWay.get(url) ?? 0) + by)
    count(1)
    return (await postSigned(url, path, body, { key }).finally(() => count(-1))).status
  }
  /** As behind a load balancer: the next server takes over, and the last one stops when its requests are answered. */
  const restart = async (env: Record<string, string>) => {
    const last = server
    server = await begin(env)
    await until('the last server has answered', () => underWay.get(last.url) === 0)
    await last.stop()
  }
  return { send, restart }
}

describe('challenge: keys are rotated under load', () => {
  test('servers restart and signers change one by one, in both directions: no request is refused', async (t) => {
    const { send, restart } = await setup(t)
    const keysOf = Array.from({ length: CLIENTS }, () => ({ solver: SOLVER_KEY, chal: CHAL_KEY }))
    const statuses: Record<string, number> = {}
    let sent = 0
    const over = new AbortController()

    const note = (key: string, status: number) => {
      const word = `${key} ${status}`
      statuses[word] = (statuses[word] ?? 0) + 1
      sent += 1
    }
    const client = async (keys: { solver: typeof SOLVER_KEY; chal: typeof CHAL_KEY }) => {
      while (!over.signal.aborted) {
        const { solver, chal } = keys
        const solve = solveBody(`s${sent}-${Math.random()}`, 'https://challenger.example/callback/c')
        note(solver.keyId, await send('/solve', solve, solver))
        const callback = { api_version: 'v2.1', challenge_id: 'c', solver_job_id: 'j', status: 'success', answer: '' }
        note(chal.keyId, await send('/callback/c', callback, chal))
      }
    }
    const phase = async (change: () => unknown) => {
      await change()
      const before = sent
      await until('requests have come in this phase', () => sent >= before + REQUESTS_PER_PHASE)
    }

    const clients = Promise.all(keysOf.map(client))
    await phase(() => {})
    await phase(() => restart(OLD_KNOWS_NEW))
    for (const keys of keysOf) await phase(() => Object.assign(keys, { solver: NEW_SOLVER_KEY, chal: NEW_CHAL_KEY }))
    await phase(() => restart(NEW_KNOWS_OLD))
    await phase(() => restart(OLD_IS_OVER))
    over.abort()
    await clients

    assert.deepEqual(Object.keys(statuses).toSorted(), [
      'chal-kid-1 200',
      'chal-kid-2 200',
      'solver-kid-1 202',
      'solver-kid-2 202',
    ])
    assert.equal(await send('/solve', solveBody('late', 'https://challenger.example/callback/c'), SOLVER_KEY), 401)
  })
})
