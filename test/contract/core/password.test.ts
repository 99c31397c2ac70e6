import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { setup } from './setup.ts'

async function setupAnn(t: TestContext, env: Record<string, string> = { LOGIN_RATE_LIMIT_MAX: '1000' }) {
  const world = await setup(t, { env })
  const { token } = await world.account('ann')
  const change = (
    current: unknown,
    next: unknown,
    headers: Record<string, string> = { authorization: `Bearer ${token}` },
  ) =>
    world.ask({
      method: 'POST',
      url: '/auth/password',
      headers,
      payload: { current_password: current, new_password: next },
    })
  const login = async (password: string) => {
    const answer = await world.ask({ method: 'POST', url: '/auth/login', payload: { username: 'ann', password } })
    return { status: answer.statusCode, token: answer.json().access_token }
  }
  const isGood = async (token: string) => (await world.ask({ url: '/auth/me', token })).statusCode === 200
  return { ...world, token, change, login, isGood }
}

describe('/auth/password', () => {
  test('the new password counts from now on, the old one does not, and every other login ends', async (t) => {
    const { change, login, isGood, token } = await setupAnn(t)
    const other = await login('ann password')

    const answer = await change('ann password', 'a better one')

    assert.deepEqual([answer.statusCode, answer.body], [204, ''])
    assert.deepEqual([await isGood(token), await isGood(other.token)], [true, false])
    assert.deepEqual([(await login('ann password')).status, (await login('a better one')).status], [401, 200])
  })

  test('a wrong current password is refused and changes nothing', async (t) => {
    const { change, login, isGood, token } = await setupAnn(t)
    const other = await login('ann password')

    const answer = await change('guess', 'mine now')

    assert.deepEqual([answer.statusCode, answer.json()], [403, { detail: 'The current password is wrong' }])
    assert.deepEqual([await isGood(token), await isGood(other.token)], [true, true])
    assert.equal((await login('ann password')).status, 200)
  })

  test('the caller is checked before the body, and the body before the password', async (t) => {
    const { ask, change } = await setupAnn(t)

    const stranger = await ask({
      method: 'POST',
      url: '/auth/password',
      payload: '{',
      headers: { 'content-type': 'application/json' },
    })

    assert.equal(stranger.statusCode, 401)
    for (const [current, next] of [
      ['guess', ''],
      ['guess', 'x'.repeat(1025)],
      ['guess', 5],
      [5, 'x'],
      [undefined, 'x'],
    ]) {
      assert.equal((await change(current, next)).statusCode, 422, `${String(current)} ${String(next).slice(0, 20)}`)
    }
  })

  test('guesses count as logins', async (t) => {
    const { change, login } = await setupAnn(t, { LOGIN_RATE_LIMIT_MAX: '4' }) // of which the setup is one, at another address

    const codes = []
    for (let n = 0; n < 4; n += 1) codes.push((await change('guess', 'mine now')).statusCode)
    const late = await change('ann password', 'mine now')

    assert.deepEqual(codes, [403, 403, 403, 403])
    assert.equal(late.statusCode, 429)
    assert.match(String(late.headers['retry-after']), /^\d+$/)
    assert.equal((await login('ann password')).status, 429)
  })

  test('requires a login: an API key cannot change the password, and stays valid after the change', async (t) => {
    const { ask, change, token } = await setupAnn(t)
    const made = await ask({ method: 'POST', url: '/auth/api-keys', token, payload: { name: 'robot' } })
    const key = { 'x-api-key': made.json().api_key }

    const byKey = await change('ann password', 'a better one', key)
    const byLogin = await change('ann password', 'a better one')

    assert.deepEqual([byKey.statusCode, byKey.json()], [403, { detail: 'Log in to change the password' }])
    assert.equal(byLogin.statusCode, 204)
    assert.equal((await ask({ url: '/auth/me', headers: key })).statusCode, 200)
  })

  test('of two changes at once one is applied', async (t) => {
    const { change, login } = await setupAnn(t)

    const answers = await Promise.all([change('ann password', 'one password'), change('ann password', 'two password')])

    assert.deepEqual(answers.map(({ statusCode }) => statusCode).toSorted(), [204, 403])
    const winner = answers[0]?.statusCode === 204 ? 'one password' : 'two password'
    assert.deepEqual(
      [(await login('one password')).status === 200, (await login('two password')).status === 200],
      [winner === 'one password', winner === 'two password'],
    )
  })

  test('neither password is ever in the log', async (t) => {
    const { change, lines } = await setupAnn(t)

    await change('ann password', 'canary-new')
    await change('canary-guess', 'canary-new')

    assert.doesNotMatch(lines.join('\n'), /canary|ann password/)
  })
})
