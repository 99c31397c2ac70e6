// The common solver API, as client libraries speak it: POST with JSON, status 200, errorId.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { inBothModes, PNG, staffed, type Mode } from './setup.ts'

const TASKS = '/api/v1/captcha/tasks'

async function withKey(t: TestContext, mode: Mode = 'PostgreSQL') {
  const desk = await staffed(t, { mode })
  const { body } = await desk.scraper.post('/auth/api-keys', { name: 'program' })
  const clientKey: string = body.api_key
  /** What a library does: no token, the key in the body. */
  const call = async (method: string, body: object | string) => {
    const response = await fetch(`${desk.url}/${method}`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
      body: typeof body === 'string' ? body : JSON.stringify({ clientKey, ...body }),
    })
    assert.equal(response.status, 200)
    return JSON.parse(await response.text())
  }
  const uuidOf = async (id: number) =>
    (await desk.operator.get(TASKS)).body.tasks.find((task: { id: number }) => task.id === id).uuid
  return { ...desk, clientKey, call, uuidOf }
}

inBothModes('desk 12.1: a picture is created, polled, solved and reported as a library does it', async (t, mode) => {
  const { call, uuidOf, operator, admin } = await withKey(t, mode)

  const created = await call('createTask', {
    task: {
      type: 'ImageToTextTask',
      body: PNG.toString('base64'),
      phrase: false,
      case: true,
      numeric: 0,
      math: false,
      minLength: 2,
      maxLength: 8,
      comment: 'the green ones',
    },
    softId: 0,
    languagePool: 'en',
  })
  const { taskId } = created
  const waiting = await call('getTaskResult', { taskId })
  const uuid = await uuidOf(taskId)
  const { body: task } = await operator.get(`${TASKS}/${uuid}`)
  const short = await operator.post(`${TASKS}/${uuid}/solve`, { type: 'answer', payload: 'x' })
  await operator.post(`${TASKS}/${uuid}/solve`, { type: 'answer', payload: 'deditur' })
  const ready = await call('getTaskResult', { taskId })
  const reported = await call('reportIncorrectImageCaptcha', { taskId })
  const { body: numbers } = await admin.get('/api/v1/captcha/operators')

  assert.deepEqual(created, { errorId: 0, taskId: task.id })
  assert.deepEqual(waiting, { errorId: 0, status: 'processing' })
  assert.equal(task.form.question, 'Write down what the picture says. the green ones Capitals matter.')
  assert.equal(short.status, 422)
  const { createTime, endTime, ip, ...rest } = ready
  assert.deepEqual(rest, { errorId: 0, status: 'ready', solution: { text: 'deditur' }, cost: '0.00000', solveCount: 1 })
  assert(Number.isInteger(createTime) && endTime >= createTime && typeof ip === 'string')
  assert.deepEqual(reported, { errorId: 0, status: 'success' })
  assert.equal(numbers.operators[0].reported_bad, 1)
})

test('desk 12.2: null, empty and zero are taken as not set', async (t) => {
  const { call, uuidOf, operator } = await withKey(t)
  const unset = {
    phrase: 0,
    case: false,
    numeric: 0,
    math: false,
    minLength: 0,
    maxLength: 0,
    comment: false,
    websiteURL: null,
  }

  const created = await call('createTask', {
    task: { type: 'ImageToTextTask', body: PNG.toString('base64'), ...unset },
  })
  const { body } = await operator.get(`${TASKS}/${await uuidOf(created.taskId)}`)

  assert.equal(created.errorId, 0)
  assert.equal(body.form.question, 'Write down what the picture says.')
})

test('desk 12.3: a widget asks for a token, each call is new work, and the list of domains applies', async (t) => {
  const { call, uuidOf, operator } = await withKey(t)
  const task = (type: string, websiteURL = 'https://shop.example/') => ({
    task: { type, websiteURL, websiteKey: '6LfI9', proxyPassword: 'hidden', cookies: 'a=b', action: '', data: null },
  })

  const [one, two, turnstile] = [
    await call('createTask', task('RecaptchaV2TaskProxyless')),
    await call('createTask', task('RecaptchaV2TaskProxyless')),
    await call('createTask', task('TurnstileTaskProxyless')),
  ]
  for (const [index, { taskId }] of [one, two, turnstile].entries())
    await operator.post(`${TASKS}/${await uuidOf(taskId)}/solve`, {
      type: 'token',
      payload: `token-${index}`,
      ...(index === 2 ? { user_agent: 'Firefox' } : {}),
    })
  const { body: shown } = await operator.get(`${TASKS}/${await uuidOf(one.taskId)}`)
  const solutions = []
  for (const { taskId } of [one, two, turnstile]) solutions.push((await call('getTaskResult', { taskId })).solution)

  assert.notEqual(one.taskId, two.taskId)
  assert.deepEqual(solutions, [
    { gRecaptchaResponse: 'token-0' },
    { gRecaptchaResponse: 'token-1' },
    { token: 'token-2', userAgent: 'Firefox' },
  ])
  assert.deepEqual(shown.metadata, { adapter_type: 'RecaptchaV2TaskProxyless', website_key: '6LfI9' })
  assert.deepEqual(await call('reportCorrectRecaptcha', { taskId: one.taskId }), { errorId: 0, status: 'success' })
  assert.equal(
    (await call('createTask', task('RecaptchaV2TaskProxyless', 'https://shop.org/'))).errorCode,
    'ERROR_DOMAIN_NOT_ALLOWED',
  )
})

test('desk 12.4: errors have status 200 and an errorId', async (t) => {
  const { call, account, url, clientKey, operator, uuidOf } = await withKey(t)
  const rival = await account('sue', 'SCRAPER')
  const rivalKey = (await rival.post('/auth/api-keys', { name: 'p' })).body
  const otherKey: string = rivalKey.api_key
  const operatorKey = (await operator.post('/auth/api-keys', { name: 'p' })).body
  const text = { task: { type: 'TextCaptchaTask', comment: 'Two and two?', minLength: null, numeric: 0 } }
  const { taskId } = await call('createTask', text)
  const codes: [string, object | string, string][] = [
    ['createTask', { ...text, clientKey: 'nonsense' }, 'ERROR_KEY_DOES_NOT_EXIST'],
    ['createTask', { ...text, clientKey: operatorKey.api_key }, 'ERROR_KEY_DOES_NOT_EXIST'],
    ['createTask', 'not json', 'ERROR_BAD_PARAMETERS'],
    ['createTask', '[]', 'ERROR_BAD_PARAMETERS'],
    ['createTask', {}, 'ERROR_TASK_ABSENT'],
    ['createTask', { task: { type: 'AntiGateTask' } }, 'ERROR_TASK_NOT_SUPPORTED'],
    ['createTask', { task: { type: 'constructor' } }, 'ERROR_TASK_NOT_SUPPORTED'],
    ['createTask', { task: { type: 'ImageToTextTask', body: '' } }, 'ERROR_ZERO_CAPTCHA_FILESIZE'],
    ['createTask', { task: { type: 'ImageToTextTask', body: 'AAAA' } }, 'ERROR_IMAGE_TYPE_NOT_SUPPORTED'],
    ['createTask', { task: { type: 'ImageToTextTask', body: 'A'.repeat(750_000) } }, 'ERROR_TOO_BIG_CAPTCHA_FILESIZE'],
    ['createTask', { task: { type: 'HCaptchaTask', websiteURL: 'https://shop.example/' } }, 'ERROR_BAD_PARAMETERS'],
    ['createTask', { ...text, callbackUrl: 'https://a.example/' }, 'ERROR_BAD_PARAMETERS'],
    ['getTaskResult', { taskId: 999_999 }, 'ERROR_NO_SUCH_CAPCHA_ID'],
    ['getTaskResult', { taskId: 'x' }, 'ERROR_NO_SUCH_CAPCHA_ID'],
    ['getTaskResult', { taskId: 1e30 }, 'ERROR_NO_SUCH_CAPCHA_ID'],
    ['getTaskResult', { taskId: { valueOf: 1, toString: 1 } }, 'ERROR_NO_SUCH_CAPCHA_ID'],
    ['createTask', { task: { type: { toString: 1 } } }, 'ERROR_TASK_NOT_SUPPORTED'],
    ['createTask', { task: { type: 'TextCaptchaTask', comment: { toString: 1 } } }, 'ERROR_BAD_PARAMETERS'],
    ['getTaskResult', { taskId, clientKey: otherKey }, 'ERROR_NO_SUCH_CAPCHA_ID'],
    ['reportIncorrectRecaptcha', { taskId }, 'ERROR_BAD_PARAMETERS'],
  ]

  for (const [method, body, code] of codes) {
    const answer = await call(method, body)
    assert.equal(answer.errorCode, code, JSON.stringify(body).slice(0, 100))
    assert(answer.errorId > 0 && typeof answer.errorDescription === 'string')
  }
  await operator.post(`${TASKS}/${await uuidOf(taskId)}/mark-unsolvable`, { reason: 'no' })
  assert.deepEqual((await call('getTaskResult', { taskId })).errorCode, 'ERROR_CAPTCHA_UNSOLVABLE')
  assert.deepEqual(await call('getBalance', {}), { errorId: 0, balance: 1000 })
  assert.equal((await fetch(`${url}/createTask`)).status, 405)
  assert.equal(typeof clientKey, 'string')
})
