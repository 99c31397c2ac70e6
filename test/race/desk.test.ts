// Two operators, two servers, one task, the same moment: the ledger lets one have it.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { answerOf, setup as besides, staffed, type Answer, type Asker } from '../contract/desk/setup.ts'
import { raceRounds } from '../support/size.ts'

const TASKS = '/api/v1/captcha/tasks'
const RACES = raceRounds(1000)
const AT_ONCE = 20
const LIMITS = {
  CAPTCHA_OPERATOR_RATE_LIMIT: '1000000',
  CAPTCHA_DOMAIN_RATE_LIMIT: '1000000',
  QUOTA_OPEN_TASKS: '1000000',
  LOG_LEVEL: 'silent',
}

/** Ann speaks to one server and Bob to another: nothing but the database stands between them. */
async function setup(t: TestContext) {
  const desk = await staffed(t, { env: LIMITS })
  const second = await staffedBeside(t, desk)
  return { ...desk, bob: second }
}

async function staffedBeside(
  t: TestContext,
  { at, dataDir, other }: Awaited<ReturnType<typeof staffed>>,
): Promise<Asker> {
  const { url } = await besides(t, { on: at, dataDir, env: LIMITS })
  const post = async (path: string, body?: unknown): Promise<Answer> => {
    const headers = { authorization: `Bearer ${other.token}`, 'content-type': 'application/json' }
    return answerOf(await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) }))
  }
  return { ...other, post }
}

async function inTurns<T>(count: number, work: (n: number) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  for (let n = 0; n < count; n += AT_ONCE) {
    const turn = Array.from({ length: Math.min(AT_ONCE, count - n) }, (_, index) => work(n + index))
    results.push(...(await Promise.all(turn)))
  }
  return results
}

describe('desk races', () => {
  test(`of two operators who claim one task, ${RACES} times one gets 200 and the other 409 with holder and expiry`, async (t) => {
    const { create, assign, operator, bob, database } = await setup(t)

    const races = await inTurns(RACES, async (n) => {
      const { uuid } = await create({ url: `https://s${n}.example/` })
      const claims = n % 2 === 0 ? [operator, bob] : [bob, operator]
      const answers = await Promise.all(claims.map((by) => assign(uuid, by)))
      return { uuid, answers }
    })

    const wins = { ann: 0, bob: 0 }
    for (const { uuid, answers } of races) {
      const [won, lost] = answers.toSorted((a, b) => a.status - b.status)
      assert.deepEqual([won?.status, lost?.status], [200, 409], uuid)
      const holder: 'ann' | 'bob' = won?.body.operator_id
      wins[holder] += 1
      assert.deepEqual(lost?.body.detail, {
        message: 'Task is locked by another operator',
        assigned_to: holder,
        locked_until: won?.body.locked_until,
      })
    }
    assert(wins.ann > 0 && wins.bob > 0, JSON.stringify(wins))
    assert.deepEqual(await database.query('select distinct attempt_id, state from jobs'), [
      { attempt_id: 1, state: 'processing' },
    ])
    assert.deepEqual(
      await database.query(`select count(*)::integer as n from captcha_audit where action = 'claimed'`),
      [{ n: RACES }],
    )
  })

  test('of two who solve one unclaimed task, one solution stays and nobody is told otherwise', async (t) => {
    const { create, scraper, operator, bob, database } = await setup(t)

    const races = await inTurns(200, async (n) => {
      const { uuid } = await create({ url: `https://s${n}.example/` })
      const solve = (by: Asker) => by.post(`${TASKS}/${uuid}/solve`, { type: 'token', payload: `by ${by.username}` })
      const answers = await Promise.all([solve(operator), solve(bob)])
      return { uuid, answers, task: (await scraper.get(`${TASKS}/${uuid}`)).body }
    })

    for (const { answers, task } of races) {
      const hasWon = ({ body }: (typeof answers)[number]) => String(body.message).startsWith('CAPTCHA solved')
      const won = answers.filter(hasWon)
      const lost = answers.find((answer) => !hasWon(answer))
      assert.equal(won.length, 1)
      assert.equal(task.solver_result.payload, `by ${task.assigned_to}`)
      assert.equal(won[0]?.body.task.assigned_to, task.assigned_to)
      const isTold = lost?.status === 200 ? lost.body.message === 'Task already solved' : lost?.status === 409
      assert(isTold, JSON.stringify(lost?.body))
    }
    assert.deepEqual(await database.query(`select count(*)::integer as n from captcha_audit where action = 'solved'`), [
      { n: 200 },
    ])
  })

  test('a claim against the expiry: a task is claimed or expired, never both', async (t) => {
    const { create, assign, bob, admin, database } = await setup(t)

    const races = await inTurns(100, async (n) => {
      const { uuid } = await create({ url: `https://s${n}.example/` })
      await database.query(
        `update captcha_task set unclaimed_since = clock_timestamp() - interval '1 hour' where uuid = $1`,
        [uuid],
      )
      const [claimed] = await Promise.all([assign(uuid, bob), admin.delete('/api/v1/captcha/expired')])
      const { body } = await admin.get(`${TASKS}/${uuid}`)
      return { claimed: claimed.status, status: body.status }
    })

    for (const { claimed, status } of races) assert.equal(status, claimed === 200 ? 'in_progress' : 'expired')
  })

  test('desk 13.2: sweeps that find the same task expired at once end it once: one audit line, one event', async (t) => {
    const env = { ...LIMITS, CAPTCHA_TASK_TIMEOUT: '3600' }
    const desk = await staffed(t, { env })
    const second = await besides(t, { on: desk.at, dataDir: desk.dataDir, env })
    const heard = await desk.listen(desk.operator)
    const tasks = await inTurns(60, (n) => desk.create({ url: `https://s${n}.example/` }))
    await desk.database.query(`update captcha_task set unclaimed_since = clock_timestamp() - interval '2 hours'`)

    const headers = { authorization: `Bearer ${desk.admin.token}` }
    const urls = [desk.url, second.url, desk.url, second.url]
    const answers = await Promise.all(
      urls.map((url) => fetch(`${url}/api/v1/captcha/expired`, { method: 'DELETE', headers })),
    )
    await heard.untilType('task_expired', tasks.length)
    const ends = await desk.database.query<{ uuid: string; count: number }>(
      `select uuid, count(*)::integer as count from captcha_audit where action = 'expired' group by uuid`,
    )

    assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set([200]))
    assert.equal(ends.length, tasks.length)
    assert(ends.every(({ count }) => count === 1))
    assert.equal(heard.types().filter((type) => type === 'task_expired').length, tasks.length)
  })
})
