// A server is killed while people claim and solve: what was answered is there, once, and what was not is whole or not at all.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { openDatabase } from '../../src/core/db/database.ts'
import { insertAccount } from '../../src/core/identity/accounts.ts'
import type { Role } from '../../src/core/identity/role.ts'
import { migrationFolders } from '../../src/doors/outline.ts'
import { answerOf, urlOf } from '../contract/desk/setup.ts'
import { atEnd } from '../support/cleanup.ts'
import { freshDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'
import { dataFolder, spawnReeve } from './reeve.ts'
import { loginOf } from '../support/login.ts'

const TASKS = '/api/v1/captcha/tasks'
const COUNT = 40

async function setup(t: TestContext) {
  const at = await freshDatabase(migrationFolders())
  const folder = await dataFolder(t)
  const database = openDatabase(at, () => {})
  atEnd(t, () => database.close())
  const tokenOf = async (username: string, role: Role) => {
    const account = await insertAccount(database, { username, passwordHash: 'none', roles: [role] })
    return loginOf(database, account?.accountId ?? 0)
  }
  const tokens = {
    sid: await tokenOf('sid', 'SCRAPER'),
    ann: await tokenOf('ann', 'OPERATOR'),
    bob: await tokenOf('bob', 'OPERATOR'),
  }
  const begin = async () => {
    const reeve = spawnReeve(t, folder, { DOORS: 'desk', DATABASE_URL: urlOf(at) })
    const { url } = await reeve.ready()
    const ask = async (who: keyof typeof tokens, method: string, path: string, body?: object) => {
      const headers = { authorization: `Bearer ${tokens[who]}`, 'content-type': 'application/json' }
      return answerOf(
        await fetch(url + path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) }),
      )
    }
    const create = async (n: number): Promise<string> =>
      (await ask('sid', 'POST', TASKS, { url: `https://s${n}.example/` })).body.uuid
    return { reeve, ask, create }
  }
  return { begin, database }
}

const TOKEN = { type: 'token', payload: 'tok' }

describe('a desk that is killed', () => {
  test('keeps what it acknowledged: the lock holds, and the solution is there and announced once', async (t) => {
    const { begin, database } = await setup(t)
    const first = await begin()
    const [held, solved] = [await first.create(1), await first.create(2)]
    await first.ask('ann', 'POST', `${TASKS}/${held}/assign`, { operator_id: 'ann' })
    const answer = await first.ask('ann', 'POST', `${TASKS}/${solved}/solve`, TOKEN)
    first.reeve.signal('SIGKILL')
    await first.reeve.exited

    const { ask } = await begin()
    const refused = await ask('bob', 'POST', `${TASKS}/${held}/assign`, { operator_id: 'bob' })
    const mine = await ask('ann', 'POST', `${TASKS}/${held}/solve`, TOKEN)
    const { body } = await ask('sid', 'GET', `${TASKS}/${solved}`)
    const told = () =>
      database.query(`select payload->'payload'->>'uuid' as uuid from events where type = 'task_solved' order by 1`)
    await until('both were told', async () => (await told()).length >= 2)

    assert.equal(answer.status, 200)
    assert.deepEqual([refused.status, refused.body.detail.assigned_to, mine.status], [409, 'ann', 200])
    assert.deepEqual([body.status, body.solver_result.payload], ['solved', 'tok'])
    assert.deepEqual(
      await told(),
      [{ uuid: held }, { uuid: solved }].toSorted((a, b) => (a.uuid < b.uuid ? -1 : 1)),
    )
  })

  test('in the middle of many solves has each of them whole or not at all', async (t) => {
    const { begin, database } = await setup(t)
    const first = await begin()
    const uuids = await Promise.all(Array.from({ length: COUNT }, (_, n) => first.create(n)))

    const answered = new Set<string>()
    const solving = uuids.map(async (uuid, n) => {
      const who = n % 2 === 0 ? 'ann' : 'bob'
      const { status } = await first.ask(who, 'POST', `${TASKS}/${uuid}/solve`, {
        type: 'cookie',
        payload: [{ name: 'a', value: '1' }],
      })
      if (status === 200) answered.add(uuid)
      if (answered.size === 5) first.reeve.signal('SIGKILL')
    })
    await Promise.allSettled(solving)
    await first.reeve.exited
    const { ask } = await begin()

    type Whole = { uuid: string; state: string; status: string; sealed: boolean; sessions: number; lines: number }
    const all = await database.query<Whole>(`
      select t.uuid, j.state, t.status, t.solver_result is not null as sealed,
             (select count(*)::integer from captcha_session s where s.uuid = t.uuid) as sessions,
             (select count(*)::integer from captcha_audit a where a.uuid = t.uuid and a.action = 'solved') as lines
        from captcha_task t join jobs j on j.job_id = t.job_id`)
    for (const { uuid, state, status, sealed, sessions, lines } of all) {
      const isDone = state === 'done'
      assert.deepEqual(
        [status === 'solved', sealed, sessions, lines],
        [isDone, isDone, isDone ? 1 : 0, isDone ? 1 : 0],
        uuid,
      )
      if (answered.has(uuid)) assert(isDone, uuid)
    }
    // What was claimed for the moment and not finished is its operator's still: the same solve again ends it.
    for (const [n, uuid] of uuids.entries()) {
      const { status } = await ask(n % 2 === 0 ? 'ann' : 'bob', 'POST', `${TASKS}/${uuid}/solve`, TOKEN)
      assert.equal(status, 200, uuid)
    }
    assert(answered.size >= 5 && all.length === COUNT)
  })
})
