// Sections 5, 6 and 8 of docs/challenge.md: how signed requests leave, and what is shown of them.
import assert from 'node:assert/strict'
import type http from 'node:http'
import { describe, test } from 'node:test'
import { freePort } from '../../support/servers.ts'
import { until } from '../../support/until.ts'
import { account, CHAL_KEY, get, login, post, postSigned, solveBody, startReceiver, startServer } from './setup.ts'

const answering =
  (status: number, headers: http.OutgoingHttpHeaders): http.RequestListener =>
  (_request, response) =>
    void response.writeHead(status, headers).end()

describe('challenge: deliveries', () => {
  test('challenge 5.2: metadata has the solver and compute_time_ms', async (t) => {
    const receiver = await startReceiver(t)
    const { url } = await startServer(t)

    await postSigned(url, '/solve', solveBody('c1', `${receiver.url}/callback/c1`))
    await until('the callback came', () => receiver.received.length > 0)

    const { metadata } = JSON.parse(receiver.received[0]?.body ?? '')
    assert.deepEqual(Object.keys(metadata).toSorted(), ['compute_time_ms', 'solver'])
    assert(Number.isInteger(metadata.compute_time_ms) && metadata.compute_time_ms >= 0)
  })

  test('challenge 5.3: a callback of a job that ended is sent by whoever comes next', async (t) => {
    const receiver = await startReceiver(t, [answering(503, { 'retry-after': '3' })])
    const first = await startServer(t)
    await postSigned(first.url, '/solve', solveBody('c1', `${receiver.url}/callback/c1`))
    await until('the first attempt was made', () => receiver.received.length === 1)
    await first.stop()

    await startServer(t, { on: first.at })
    await until('another server made the second', () => receiver.received.length === 2)

    assert.equal(receiver.received[1]?.body, receiver.received[0]?.body)
  })

  test('challenge 5.5: a 4xx is final, a 5xx is not', async (t) => {
    const receiver = await startReceiver(t, [400])
    const { url } = await startServer(t)
    const admin = await login(url)
    const dead = async () => (await get(`${url}/challenges/deliveries`, admin)).body.deliveries

    await postSigned(url, '/solve', solveBody('c1', `${receiver.url}/callback/c1`))
    await until('it is a dead letter', async () => (await dead()).length === 1)

    assert.equal((await dead())[0].attempts, 1)
    assert.equal(receiver.received.length, 1)
  })

  test('challenge 5.6: Retry-After replaces the wait', async (t) => {
    const receiver = await startReceiver(t, [
      answering(503, { 'retry-after': '1' }),
      answering(429, { 'retry-after': '0' }),
    ])
    const { url } = await startServer(t)

    await postSigned(url, '/solve', solveBody('c1', `${receiver.url}/callback/c1`))
    await until('three attempts were made', () => receiver.received.length === 3)

    const [first = 0, second = 0] = receiver.received.map(({ at }) => at)
    assert(second - first >= 1000, 'a second as asked, not half of one')
  })

  test('challenge 5.5: a 2xx is success whatever its body', async (t) => {
    const receiver = await startReceiver(t, [
      (_request, response) => response.writeHead(200).end('x'.repeat(1_000_000)),
    ])
    const { url } = await startServer(t)
    const admin = await login(url)
    const delivered = async () => (await get(`${url}/challenges/deliveries?status=delivered`, admin)).body.deliveries

    await postSigned(url, '/solve', solveBody('c1', `${receiver.url}/callback/c1`))
    await until('it was delivered', async () => (await delivered()).length === 1)

    assert.equal((await delivered())[0].attempts, 1)
  })

  test('challenge 5.6: Retry-After as a date replaces the wait', async (t) => {
    const date = new Date(1_700_000_000_000)
    const retryAt = new Date(date.getTime() + 2000)
    const headers = { date: date.toUTCString(), 'retry-after': retryAt.toUTCString() }
    const receiver = await startReceiver(t, [answering(503, headers)])
    const { url } = await startServer(t)

    await postSigned(url, '/solve', solveBody('c1', `${receiver.url}/callback/c1`))
    await until('it was retried', () => receiver.received.length === 2)

    const [first = 0, second = 0] = receiver.received.map(({ at }) => at)
    assert(second - first >= 2000, 'two seconds by the other side’s clock, not half of one')
  })

  test('challenge 5.9: an attempt names its cause, and a delivery that is given up is one line in the log', async (t) => {
    const refusing = await startReceiver(t, [
      (_request, response) => response.writeHead(401).end('{"error":{"code":"INVALID_SIGNATURE"}}'),
    ])
    const lines: string[] = []
    const { url } = await startServer(t, { lines, env: { LOG_LEVEL: 'warn' } })
    const admin = await login(url)
    const dead = async () => (await get(`${url}/challenges/deliveries`, admin)).body.deliveries

    await postSigned(url, '/solve', solveBody('c1', `${refusing.url}/callback/c1`))
    await until('it is a dead letter', async () => (await dead()).length === 1)

    const [delivery] = await dead()
    assert.equal(delivery.last_error, 'HTTP 401 (INVALID_SIGNATURE)')
    const { body } = await get(`${url}/admin/deliveries/${delivery.delivery_id}`, admin)
    assert.deepEqual([body.log[0].status_code, body.log[0].peer_code], [401, 'INVALID_SIGNATURE'])
    const logged = lines.filter((line) => line.includes('dead letter')).map((line) => JSON.parse(line))
    assert.deepEqual(
      logged.map(({ subject, peer_code: code }) => [subject, code]),
      [['c1', 'INVALID_SIGNATURE']],
    )
  })

  test('challenge 5.9: a refused connection is named as such', async (t) => {
    const port = await freePort()
    const { url } = await startServer(t)
    const admin = await login(url)
    const pending = async () => (await get(`${url}/challenges/deliveries?status=pending`, admin)).body.deliveries

    await postSigned(url, '/solve', solveBody('c1', `http://127.0.0.1:${port}/callback/c1`))
    let error: unknown
    await until('an attempt has failed', async () => {
      error = (await pending())[0]?.last_error
      return typeof error === 'string'
    })

    assert.equal(error, 'network_error (ECONNREFUSED)')
  })

  test('challenge 5.10: CALLBACK_SLOW_RETRIES keeps a delivery alive after its sixth attempt', async (t) => {
    const again = answering(503, { 'retry-after': '0' })
    const receiver = await startReceiver(t, [again, again, again, again, again, 500])
    const { url } = await startServer(t, { env: { CALLBACK_SLOW_RETRIES: '1' } })
    const admin = await login(url)
    const listed = async (status: string) =>
      (await get(`${url}/challenges/deliveries?status=${status}`, admin)).body.deliveries

    await postSigned(url, '/solve', solveBody('c1', `${receiver.url}/callback/c1`))
    // An attempt is counted before it is made: the sixth has failed when its own error is there.
    const errorOf = async () => [...(await listed('pending')), ...(await listed('dead'))][0]?.last_error
    await until('six attempts have failed', async () => (await errorOf()) === 'HTTP 500')

    assert.deepEqual(
      (await listed('pending')).map(({ attempts }: { attempts: number }) => attempts),
      [6],
    )
    assert.equal(receiver.received.length, 6)
    assert.deepEqual(await listed('dead'), [])
  })

  test('challenge 5.11: requests carry User-Agent', async (t) => {
    const receiver = await startReceiver(t)
    const { url } = await startServer(t)

    await postSigned(url, '/solve', solveBody('c1', `${receiver.url}/callback/c1`))
    await until('the callback came', () => receiver.received.length === 1)

    assert.match(receiver.received[0]?.headers['user-agent'] ?? '', /^Reeve\/\d+\.\d+\.\d+/)
  })

  test('challenge 5.8: an address that is not public is refused when it is dialled', async (t) => {
    const receiver = await startReceiver(t)
    const { url } = await startServer(t, { env: { OUTBOUND_ALLOW_CIDRS: '' } })
    const admin = await login(url)
    const dead = async () => (await get(`${url}/challenges/deliveries`, admin)).body.deliveries

    await postSigned(url, '/solve', solveBody('c1', `${receiver.url}/callback/c1`))
    await until('it is a dead letter', async () => (await dead()).length === 1)

    assert.match((await dead())[0].last_error, /forbidden_address/)
    assert.equal(receiver.received.length, 0)
  })

  test('challenge 6.4: challenges are listed newest first, page by page', async (t) => {
    const { url } = await startServer(t, { role: 'serve' })
    const owner = await account(url, 'owner')
    for (const id of ['c1', 'c2', 'c3']) {
      const challenge = {
        challenge_id: id,
        problem: { type: 'text' },
        validation_rule: { type: 'ExactMatch' },
        answer: '',
      }
      await post(`${url}/challenges`, JSON.stringify(challenge), owner)
    }
    const page = async (query: string) => {
      const { challenges, next_before: next } = (await get(`${url}/challenges?${query}`, owner)).body
      return { ids: challenges.map((one: { challenge_id: string }) => one.challenge_id), next }
    }

    const first = await page('limit=2')
    const second = await page(`limit=2&before=${first.next}`)

    assert.deepEqual([first.ids, second], [['c3', 'c2'], { ids: ['c1'], next: null }])
  })

  test('challenge 6.3: what is stored counts towards the quota, a repeat does not', async (t) => {
    const { url } = await startServer(t, { role: 'serve', env: { QUOTA_STORED_BYTES: '3000' } })
    const owner = await account(url, 'owner')
    const create = (id: string) => {
      const problem = { type: 'text', text: 'x'.repeat(2000) }
      const challenge = { challenge_id: id, problem, validation_rule: { type: 'ExactMatch' }, answer: '' }
      return post(`${url}/challenges`, JSON.stringify(challenge), owner)
    }

    const answers = [await create('c1'), await create('c1'), await create('c2'), await create('c1')]

    assert.deepEqual(
      answers.map(({ status }) => status),
      [201, 201, 413, 201],
    )
    assert.equal(answers[2]?.body.error.code, 'QUOTA_EXCEEDED')
  })

  test('challenge 6.4: a page of large challenges ends early, and the next one goes on', async (t) => {
    const { url } = await startServer(t, { role: 'serve' })
    const owner = await account(url, 'owner')
    for (const id of ['c1', 'c2', 'c3', 'c4']) {
      const problem = { type: 'text', text: 'x'.repeat(3_500_000) }
      const challenge = { challenge_id: id, problem, validation_rule: { type: 'ExactMatch' }, answer: '' }
      assert.equal((await post(`${url}/challenges`, JSON.stringify(challenge), owner)).status, 201)
    }
    const idsOf = (body: { challenges: { challenge_id: string }[] }) => body.challenges.map((one) => one.challenge_id)

    const first = await get(`${url}/challenges`, owner)
    const second = await get(`${url}/challenges?before=${first.body.next_before}`, owner)

    assert.deepEqual([idsOf(first.body), idsOf(second.body)], [['c4', 'c3', 'c2'], ['c1']])
    assert.equal(second.body.next_before, null)
  })

  test('challenge 7.8: texts that describe a result are cut, and the results shown are bounded in size', async (t) => {
    const { url } = await startServer(t, { role: 'serve' })
    const owner = await account(url, 'owner')
    const challenge = {
      challenge_id: 'c1',
      problem: { type: 'text' },
      validation_rule: { type: 'ExactMatch' },
      answer: '',
    }
    await post(`${url}/challenges`, JSON.stringify(challenge), owner)
    const callback = (more: object) =>
      postSigned(url, '/callback/c1', { challenge_id: 'c1', status: 'success', ...more }, { key: CHAL_KEY })

    const long = 'x'.repeat(20_000)
    await callback({ solver_job_id: long, error_code: long, error_message: long })
    for (const last of ['1', '2', '3', '4']) await callback({ answer: `${'y'.repeat(3_500_000)}${last}` })

    const { results } = (await get(`${url}/challenges/c1`, owner)).body
    const [cut] = results
    assert.deepEqual([cut.solver_job_id.length, cut.error_code.length, cut.error_message.length], [512, 255, 10_000])
    assert.equal(results.length, 4)
  })

  test('challenge 8.1: deliveries are listed for admins by status', async (t) => {
    const receiver = await startReceiver(t)
    const { url } = await startServer(t)
    const admin = await login(url)
    const owner = await account(url, 'owner')
    const listed = async (query: string) => (await get(`${url}/challenges/deliveries${query}`, admin)).body.deliveries

    await postSigned(url, '/solve', solveBody('c1', `${receiver.url}/callback/c1`))
    await until('it was delivered', async () => (await listed('?status=delivered')).length === 1)

    const [delivery] = await listed('?status=delivered')
    assert.deepEqual([delivery.challenge_id, delivery.attempts, delivery.last_error], ['c1', 1, null])
    assert.deepEqual(await listed(''), [])
    assert.equal((await get(`${url}/challenges/deliveries`, owner)).status, 403)
  })
})
