// A captcha problem that a Challenger sends to the challenge door is solved by a person at the desk.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { until } from '../../support/until.ts'
import { postSigned, solveBody, startReceiver } from '../challenge/setup.ts'
import { inBothModes, PNG, staffed, type Mode } from './setup.ts'

const TASKS = '/api/v1/captcha/tasks'

async function both(t: TestContext, mode: Mode) {
  const receiver = await startReceiver(t)
  const desk = await staffed(t, {
    mode,
    env: {
      DOORS: 'challenge,desk',
      SOLVER_HMAC_SECRET: 'solver secret',
      CHAL_HMAC_SECRET: 'chal secret',
      ALLOW_INSECURE_CALLBACKS: 'true',
    },
  })
  const send = (id: string, problem: object, more: object = {}) =>
    postSigned(
      desk.url,
      '/solve',
      solveBody(id, `${receiver.url}/callback/${id}`, { problem: { type: 'captcha', ...problem }, ...more }),
    )
  const pending = async (count = 1) => {
    await until(
      'the problems are at the desk',
      async () => (await desk.operator.get(`${TASKS}/pending`)).body.total >= count,
    )
    return (await desk.operator.get(`${TASKS}/pending`)).body.tasks
  }
  const callback = async (id: string) => {
    await until(`${id} was called back`, () => receiver.received.some(({ path }) => path === `/callback/${id}`))
    return JSON.parse(receiver.received.find(({ path }) => path === `/callback/${id}`)?.body ?? '{}')
  }
  return { ...desk, send, pending, callback }
}

inBothModes(
  'desk 7.3: a captcha problem becomes a question, and the answer goes into the callback',
  async (t, mode) => {
    const { send, pending, callback, operator, scraper } = await both(t, mode)

    await send('c1', { image: PNG.toString('base64'), question: 'Which word?' })
    const [task] = await pending()
    const { body: seen } = await operator.get(`${TASKS}/${task.uuid}`)
    await operator.post(`${TASKS}/${task.uuid}/solve`, { type: 'answer', payload: 'deditur' })
    const answer = await callback('c1')

    assert.deepEqual(
      [seen.form.question, seen.form.fields[0].type, seen.challenge_type],
      ['Which word?', 'image', 'captcha'],
    )
    const { compute_time_ms: computeMs, ...metadata } = answer.metadata
    assert.deepEqual([answer.status, answer.answer, metadata], ['success', 'deditur', { solver: 'captcha' }])
    assert(Number.isInteger(computeMs))
    assert.equal((await scraper.get(`${TASKS}/${task.uuid}`)).status, 404)
  },
)

test('desk 7.3: data and description of older problems are the picture and the question', async (t) => {
  const { send, pending, callback, operator } = await both(t, 'PostgreSQL')

  await send('picture', { data: PNG.toString('base64'), description: 'Which word?' })
  await send('words', { data: 'a1b2 in red', description: 'Write it down.' })
  const tasks = await pending(2)
  const forms = new Map<string, { uuid: string; form: { question: string; fields: { type: string }[] } }>()
  for (const { uuid } of tasks) {
    const { body } = await operator.get(`${TASKS}/${uuid}`)
    forms.set(body.form.question, body)
    await operator.post(`${TASKS}/${uuid}/solve`, { type: 'answer', payload: body.form.question })
  }

  assert.deepEqual(
    [...forms].map(([question, { form }]) => [question, form.fields.map(({ type }) => type)]).toSorted(),
    [
      ['Which word?', ['image', 'text']],
      ['Write it down.\n\na1b2 in red', ['text']],
    ],
  )
  assert.equal((await callback('picture')).answer, 'Which word?')
  assert.equal((await callback('words')).status, 'success')
})

test('desk 7.4: an unsolvable, not allowed or invalid problem fails with its reason', async (t) => {
  const { send, pending, callback, operator } = await both(t, 'PostgreSQL')

  await send('c1', { question: 'Unreadable?' })
  const [task] = await pending()
  await operator.post(`${TASKS}/${task.uuid}/mark-unsolvable`, { reason: 'a blank picture' })
  await send('c2', { url: 'https://shop.org/' })
  await send('c3', {})
  const outcomes = []
  for (const id of ['c1', 'c2', 'c3']) {
    const { status, error_code: code, error_message: message } = await callback(id)
    outcomes.push([status, code, message])
  }

  assert.deepEqual(outcomes[0], ['failed', 'UNSOLVABLE', 'a blank picture'])
  assert.deepEqual(
    [outcomes[1]?.[1], String(outcomes[1]?.[2]).startsWith('domain_not_authorised')],
    ['INVALID_PROBLEM', true],
  )
  assert.equal(outcomes[2]?.[1], 'INVALID_PROBLEM')
})

test('desk 7.5: a challenge whose time is up withdraws its question', async (t) => {
  const { send, pending, callback, operator, database } = await both(t, 'PostgreSQL')

  await send('c1', { question: 'Too late?' }, { constraints: { timeout_ms: 600_000 } })
  const [task] = await pending()
  await until('the challenge waits for its answer', async () => {
    const due = `update jobs set submitted_at = submitted_at - interval '601 s', due_at = clock_timestamp()
                  where kind = 'solve' and due_at is not null returning job_id`
    return (await database.query(due)).length === 1
  })
  const answer = await callback('c1')
  const { body } = await operator.get(`${TASKS}/${task.uuid}`)

  assert.deepEqual([answer.status, answer.error_code, body.status], ['failed', 'TIMEOUT', 'unsolvable'])
})
