// The Solver is killed between its 202 and the callback's 200: the Challenger gets exactly one result, and no callback is lost.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { Client } from 'pg'
import { migrationFolders } from '../../src/main.ts'
import { account, get, post, postSigned, solveBody, startReceiver, startServer } from '../contract/challenge/setup.ts'
import { atEnd } from '../support/cleanup.ts'
import { freshDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { dataFolder, startReeve } from './reeve.ts'

async function setup(t: TestContext, answers: Parameters<typeof startReceiver>[1]) {
  const receiver = await startReceiver(t, answers)
  const challenger = await startServer(t, { role: 'serve' })
  const owner = await account(challenger.url, 'owner')
  const challenge = {
    challenge_id: 'c1',
    problem: { type: 'math' },
    validation_rule: { type: 'ExactMatch' },
    answer: '395',
  }
  await post(`${challenger.url}/challenges`, JSON.stringify(challenge), owner)

  const at = await freshDatabase(migrationFolders())
  const folder = await dataFolder(t)
  const url = `postgres://${at.user}@localhost:${at.port}/${at.database}?host=${encodeURIComponent(at.host)}`
  const startSolver = () =>
    startReeve(t, folder, {
      DATABASE_URL: url,
      SOLVER_HMAC_SECRET: 'solver secret',
      CHAL_HMAC_SECRET: 'chal secret',
      ALLOW_INSECURE_CALLBACKS: 'true',
      OUTBOUND_ALLOW_CIDRS: '127.0.0.1/32',
    })
  const client = new Client(at)
  await client.connect()
  atEnd(t, () => client.end())
  const results = async () => (await get(`${challenger.url}/challenges/c1`, owner)).body.results
  return { receiver, challenger, startSolver, client, results }
}

describe('a Solver that is killed', () => {
  test('right after its 202 solves and calls back once it is up again', async (t) => {
    const { challenger, startSolver, results } = await setup(t, [])
    const first = startSolver()
    const { url } = await first.ready()

    const accepted = await postSigned(url, '/solve', solveBody('c1', `${challenger.url}/callback/c1`))
    first.signal('SIGKILL')
    await first.exited
    await startSolver().ready()
    await until('the result came', async () => (await results()).length > 0)

    assert.equal(accepted.status, 202)
    const [only, ...more] = await results()
    assert.deepEqual([only.answer, only.is_correct, more.length], ['395', true, 0])
  })

  test('after the Challenger took the callback and before it heard so repeats it as a duplicate', async (t) => {
    let kill = () => {}
    let forwardTo = ''
    const forward = async (headers: Record<string, string>, body: string) => post(forwardTo, body, headers)
    const { receiver, challenger, startSolver, client, results } = await setup(t, [() => kill()])
    forwardTo = `${challenger.url}/callback/c1`
    const first = startSolver()
    const { url } = await first.ready()
    kill = () => first.signal('SIGKILL')
    const passOn = async (index: number) => {
      const { authorization = '', ...rest } = receiver.received[index]?.headers ?? {}
      const headers = { authorization, 'x-request-id': String(rest['x-request-id']) }
      return forward(headers, receiver.received[index]?.body ?? '')
    }

    await postSigned(url, '/solve', solveBody('c1', `${receiver.url}/callback/c1`))
    await first.exited
    const taken = await passOn(0)
    await client.query(`update outbox_events set next_attempt_at = now() where status = 'pending'`) // not a minute later
    await startSolver().ready()
    await until('the callback came again', () => receiver.received.length === 2)
    const again = await passOn(1)

    assert.deepEqual([taken.body.duplicate, again.body.duplicate], [false, true])
    assert.equal((await results()).length, 1)
  })
})
