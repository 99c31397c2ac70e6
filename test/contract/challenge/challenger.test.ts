import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { until } from '../../support/until.ts'
import { account, CHAL_KEY, get, login, post, postSigned, startReceiver, startServer } from './setup.ts'

const RULE = { type: 'ExactMatch' }
type RuleCase = [rule: object, answer: string, given: string, isRight: boolean]

const newChallenge = (more: object = {}) =>
  JSON.stringify({ problem: { type: 'math', expression: '1+1' }, validation_rule: RULE, answer: '2', ...more })

const codeOf = (answer: { status: number; body: { error?: { code: string } } }) => [
  answer.status,
  answer.body.error?.code,
]

async function setup(t: TestContext, env: Record<string, string> = {}) {
  const { url } = await startServer(t, { env: { PUBLIC_CALLBACK_HOST: 'http://127.0.0.1:1', ...env } })
  const owner = await account(url, 'owner')
  const create = (more: object = {}, headers: object = {}) =>
    post(`${url}/challenges`, newChallenge(more), { ...owner, ...headers })
  const callback = (id: string, body: object, requestId: string | null = 'r1') =>
    postSigned(
      url,
      `/callback/${id}`,
      { api_version: 'v2.1', challenge_id: id, solver_job_id: 'j1', status: 'success', ...body },
      { key: CHAL_KEY, headers: requestId === null ? {} : { 'x-request-id': requestId } },
    )
  const show = async (id: string) => (await get(`${url}/challenges/${id}`, owner)).body
  return { url, owner, create, callback, show }
}

describe('challenge: POST /challenges', () => {
  test('challenge 6.2: creates, lists and shows a challenge to its owner; to others it is 404', async (t) => {
    const { url, owner, create, show } = await setup(t)
    const other = await account(url, 'other')

    const made = await create({ challenge_id: 'c1', constraints: { timeout_ms: 100 } })
    const listed = await get(`${url}/challenges`, owner)

    assert.equal(made.status, 201)
    assert.equal(made.body.answer, '2')
    assert.equal((await show('c1')).state, 'created')
    assert.deepEqual(
      listed.body.challenges.map((one: { challenge_id: string }) => one.challenge_id),
      ['c1'],
    )
    assert.deepEqual(codeOf(await get(`${url}/challenges/c1`, other)), [404, 'CHALLENGE_NOT_FOUND'])
    assert.deepEqual(codeOf(await post(`${url}/challenges/c1/send`, '{}', other)), [404, 'CHALLENGE_NOT_FOUND'])
    assert.deepEqual((await get(`${url}/challenges`, other)).body.challenges, [])
  })

  test('challenge 6.1: needs the role CHALLENGER, before the body is read', async (t) => {
    const { url } = await setup(t)
    const player = await account(url, 'player', ['CLIENT'])

    assert.deepEqual(codeOf(await post(`${url}/challenges`, '{')), [401, 'UNAUTHORIZED'])
    assert.deepEqual(codeOf(await post(`${url}/challenges`, '{', player)), [403, 'FORBIDDEN'])
    assert.deepEqual(codeOf(await get(`${url}/challenges`, player)), [403, 'FORBIDDEN'])
  })

  test('challenge 6.5: an invalid rule is refused when the challenge is created', async (t) => {
    const { create } = await setup(t)
    const bad = [
      null,
      5,
      {},
      { type: 'exactmatch' },
      { type: 'ExactMatch', params: { case_sensitive: 'yes' } },
      { type: 'NumericTolerance', params: 5 },
      { type: 'NumericTolerance', params: { tolerance: -1 } },
      { type: 'NumericTolerance', params: { tolerance: '1' } },
      { type: 'Regex', params: {} },
      { type: 'Regex', params: { pattern: '(' } },
      { type: 'Regex', params: { pattern: 'a(?=b)' } },
      { type: 'Regex', params: { pattern: 'a'.repeat(1025) } },
    ]

    for (const rule of bad) {
      assert.deepEqual(codeOf(await create({ validation_rule: rule })), [400, 'INVALID_VALIDATION_RULE'])
    }
    const numeric = { validation_rule: { type: 'NumericTolerance', params: { tolerance: 1 } }, answer: 'two' }
    assert.deepEqual(codeOf(await create(numeric)), [400, 'INVALID_VALIDATION_RULE'])
    assert.deepEqual(codeOf(await create({ answer: 2 })), [400, 'VALIDATION_FAILED'])
    assert.deepEqual(codeOf(await create({ problem: 'x' })), [400, 'VALIDATION_FAILED'])
    assert.deepEqual(codeOf(await create({ challenge_id: 'a/b' })), [400, 'VALIDATION_FAILED'])
    assert.deepEqual(codeOf(await create({ constraints: { timeout_ms: -1 } })), [400, 'INVALID_CONSTRAINTS'])
  })

  test('challenge 6.3: the same key or id and body name the same challenge, another body does not', async (t) => {
    const { create } = await setup(t)
    const key = { 'idempotency-key': 'k1' }

    const first = await create({}, key)
    const again = await create({}, key)

    assert.equal(again.body.challenge_id, first.body.challenge_id)
    assert.deepEqual(codeOf(await create({ answer: '3' }, key)), [422, 'IDEMPOTENCY_CONFLICT'])
    assert.equal((await create({ challenge_id: 'c1' })).status, 201)
    assert.equal((await create({ challenge_id: 'c1' })).status, 201)
    assert.deepEqual(codeOf(await create({ challenge_id: 'c1', answer: '3' })), [409, 'CHALLENGE_EXISTS'])
  })
})

describe('challenge: POST /callback/{challenge_id}', () => {
  test('challenge 7.4: a right and a wrong answer are recorded as such; the first stays final', async (t) => {
    const { create, callback, show } = await setup(t)
    await create({ challenge_id: 'c1' })

    const first = await callback('c1', { answer: '2' }, 'r1')
    const further = await callback('c1', { answer: '3' }, 'r2')

    assert.deepEqual([first.status, first.body], [200, { received: true, challenge_id: 'c1', duplicate: false }])
    assert.equal(further.body.duplicate, false)
    const { state, results, solver_job_id: jobId } = await show('c1')
    assert.deepEqual([state, jobId], ['completed', 'j1'])
    assert.deepEqual(
      results.map((one: Record<string, unknown>) => [
        one['request_id'],
        one['answer'],
        one['is_correct'],
        one['is_final'],
      ]),
      [
        ['r1', '2', true, true],
        ['r2', '3', false, false],
      ],
    )
  })

  test('challenge 7.5: the same X-Request-ID is a duplicate, and with another body a conflict in the audit', async (t) => {
    const { create, callback, show } = await setup(t)
    await create({ challenge_id: 'c1' })

    await callback('c1', { answer: 2 })
    await callback('c1', { answer: '2' })
    const same = await callback('c1', { answer: '2' })
    const other = await callback('c1', { answer: '3' })

    assert.deepEqual([same.body.duplicate, other.body.duplicate], [true, true])
    const { results, callbacks } = await show('c1')
    assert.equal(results.length, 1)
    assert.deepEqual(
      callbacks.map((one: { outcome: string; status_code: number }) => [one.outcome, one.status_code]),
      [
        ['conflict', 200],
        ['duplicate', 200],
        ['recorded', 200],
        ['refused', 400],
      ],
    )
  })

  test('challenge 7.6: a missing X-Request-ID is derived from challenge, job and body', async (t) => {
    const { create, callback, show } = await setup(t)
    await create({ challenge_id: 'c1' })

    await callback('c1', { answer: '2' }, null)
    const again = await callback('c1', { answer: '2' }, null)
    const other = await callback('c1', { answer: '3' }, null)

    assert.deepEqual([again.body.duplicate, other.body.duplicate], [true, false])
    assert.equal((await show('c1')).results.length, 2)
  })

  test('challenge 7.3: a failure is a result with is_correct null', async (t) => {
    const { create, callback, show } = await setup(t)
    await create({ challenge_id: 'c1' })

    await callback('c1', { status: 'failed', error_code: 'TIMEOUT', error_message: 'too late' })

    const [result] = (await show('c1')).results
    assert.deepEqual([result.status, result.is_correct, result.error_code], ['failed', null, 'TIMEOUT'])
  })

  test('challenge 7.2: the checks are those of /solve, then version, ids, fields and the challenge', async (t) => {
    const { url, create, callback } = await setup(t)
    await create({ challenge_id: 'c1' })
    const send = async (body: object | string, options: object = {}) =>
      codeOf(await postSigned(url, '/callback/c1', body, { key: CHAL_KEY, ...options }))
    const good = { api_version: 'v2.1', challenge_id: 'c1', status: 'success', answer: '2' }

    assert.deepEqual(codeOf(await post(`${url}/callback/c1`, '{}')), [401, 'MISSING_AUTH'])
    assert.deepEqual(await send(good, { key: { keyId: 'solver-kid-1', secret: 'x' } }), [401, 'INVALID_SIGNATURE'])
    assert.deepEqual(await send('{'), [400, 'INVALID_JSON'])
    assert.deepEqual(await send({ ...good, api_version: 'v1' }), [400, 'UNSUPPORTED_VERSION'])
    assert.deepEqual(await send({ ...good, challenge_id: undefined }), [400, 'MISSING_CHALLENGE_ID'])
    assert.deepEqual(await send({ ...good, challenge_id: 'c2' }), [400, 'CHALLENGE_ID_MISMATCH'])
    assert.deepEqual(await send({ ...good, answer: 2 }), [400, 'INVALID_CALLBACK'])
    assert.deepEqual(await send({ ...good, status: 1 }), [400, 'INVALID_CALLBACK'])
    assert.deepEqual(codeOf(await callback('nobody', {})), [404, 'CHALLENGE_NOT_FOUND'])
    assert.deepEqual(await send(good, { nonce: 'n1' }), [200, undefined])
    assert.deepEqual(await send(good, { nonce: 'n1' }), [401, 'REPLAY_ATTACK'])
  })

  const EXACT: RuleCase[] = [
    [RULE, 'Abc', 'Abc', true],
    [RULE, 'Abc', 'abc', false],
    [{ type: 'ExactMatch', params: { case_sensitive: false } }, 'Abc', 'aBC', true],
    [{ type: 'ExactMatch', params: { case_sensitive: false } }, 'ΟΔΟΣ', 'οδος', true],
  ]
  const numeric = { type: 'NumericTolerance', params: { tolerance: 0.01 } }
  const NUMERIC: RuleCase[] = [
    [numeric, '3.14', '3.1415', true],
    [numeric, '3.14', '3.16', false],
    [numeric, '3.14', 'NaN', false],
    [numeric, '3.14', '3.14abc', false],
    [numeric, '255', '0xff', false],
    [numeric, '100', '1e2', true],
    [{ type: 'NumericTolerance', params: { tolerance: 0.1 } }, '1', '1.1', true],
    [{ type: 'NumericTolerance', params: { tolerance: 0 } }, '12345678901234567891', '12345678901234567890', false],
  ]
  const REGEX: RuleCase[] = [
    [{ type: 'Regex', params: { pattern: '^\\d{3}$' } }, '', '123', true],
    [{ type: 'Regex', params: { pattern: '\\d' } }, '', 'a1b', true],
    [{ type: 'Regex', params: { pattern: '^(a+)+$' } }, '', `${'a'.repeat(50_000)}b`, false],
  ]
  const checkAll = async (t: TestContext, cases: readonly RuleCase[]) => {
    const { create, callback, show } = await setup(t)
    for (const [index, [rule, answer, given, isRight]] of cases.entries()) {
      const id = `v${index}`
      assert.equal((await create({ challenge_id: id, validation_rule: rule, answer })).status, 201)
      await callback(id, { answer: given })
      assert.equal((await show(id)).results[0].is_correct, isRight, `${JSON.stringify(rule)} ${given.slice(0, 50)}`)
    }
  }

  test('challenge 6.6: ExactMatch compares characters, or folds case', (t) => checkAll(t, EXACT))
  test('challenge 6.7: NumericTolerance compares exact decimals', (t) => checkAll(t, NUMERIC))
  test('challenge 6.8: Regex matches somewhere in the answer, in bounded time', (t) => checkAll(t, REGEX))
})

describe('challenge: POST /challenges/{id}/send', () => {
  test('challenge 6.9: sends neither the answer nor the rule, and records the outcome', async (t) => {
    const receiver = await startReceiver(t, [
      (_request, response) => response.writeHead(202).end('{"solver_job_id":"theirs"}'),
    ])
    const { url, owner, create, show } = await setup(t)
    await create({ challenge_id: 'c1', answer: 'top secret' })

    const sent = await post(`${url}/challenges/c1/send`, JSON.stringify({ solver_url: receiver.url }), owner)
    await until('the challenge was accepted', async () => (await show('c1')).state === 'accepted')

    assert.equal(sent.status, 202)
    const [request] = receiver.received
    assert.equal(request?.path, '/solve')
    assert.deepEqual(JSON.parse(request?.body ?? ''), {
      api_version: 'v2.1',
      challenge_id: 'c1',
      problem: { type: 'math', expression: '1+1' },
      output_spec: null,
      constraints: null,
      callback_url: 'http://127.0.0.1:1/callback/c1',
    })
    const { solver_job_id: jobId, deliveries } = await show('c1')
    assert.equal(jobId, 'theirs')
    assert.deepEqual([deliveries[0].status_code, deliveries[0].attempt], [202, 1])
  })

  test('challenge 6.10: a URL that is missing or invalid is refused at once, a forbidden address when it is dialled', async (t) => {
    const { url, owner, create, show } = await setup(t, { OUTBOUND_ALLOW_CIDRS: '' })
    await create({ challenge_id: 'c1' })
    const send = async (body: object) => codeOf(await post(`${url}/challenges/c1/send`, JSON.stringify(body), owner))

    assert.deepEqual(await send({}), [400, 'MISSING_SOLVER_URL'])
    assert.deepEqual(await send({ solver_url: 'http://solver.example' }), [400, 'INVALID_SOLVER_URL'])
    assert.deepEqual(await send({ solver_url: 'https://u:p@solver.example' }), [400, 'INVALID_SOLVER_URL'])
    assert.deepEqual(await send({ solver_url: 'https://127.0.0.1:9' }), [202, undefined])
    await until('it was given up', async () => (await show('c1')).state === 'send_failed')
    assert.equal((await show('c1')).deliveries[0].error, 'forbidden_address')
  })

  test('challenge 8.2: a 4xx is not retried, becomes a dead letter, and is delivered by a replay', async (t) => {
    const receiver = await startReceiver(t, [400, 202])
    const { url, owner, create, show } = await setup(t, { SOLVER_URL: receiver.url })
    await create({ challenge_id: 'c1' })
    await post(`${url}/challenges/c1/send`, '{}', owner)
    await until('it was given up', async () => (await show('c1')).state === 'send_failed')
    const admin = await login(url)

    let dead = { body: { deliveries: [{ delivery_id: 0, last_error: '' }] } }
    await until('it is a dead letter', async () => {
      dead = await get(`${url}/challenges/deliveries`, admin)
      return dead.body.deliveries.length === 1
    })
    const replayed = await post(`${url}/challenges/deliveries/replay`, '', admin)
    await until('it was accepted', async () => (await show('c1')).state === 'accepted')

    assert.equal(dead.body.deliveries[0]?.last_error, 'HTTP 400')
    assert.deepEqual(replayed.body, { replayed: [dead.body.deliveries[0]?.delivery_id] })
    assert.equal(new Set(receiver.received.map(({ headers }) => headers['x-request-id'])).size, 1)
    assert.deepEqual(codeOf(await get(`${url}/challenges/deliveries`, owner)), [403, 'FORBIDDEN'])
    assert.deepEqual(codeOf(await post(`${url}/challenges/deliveries/1234567/replay`, '', admin)), [
      404,
      'DELIVERY_NOT_FOUND',
    ])
  })
})
