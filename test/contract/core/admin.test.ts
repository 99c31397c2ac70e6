import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newJobId } from '../../../src/core/random.ts'
import { setup, type Setup } from './setup.ts'

const ADMIN_ROUTES = [
  ['POST', '/admin/users'],
  ['GET', '/admin/users'],
  ['PUT', '/admin/users/1/roles'],
  ['PUT', '/admin/users/1/active'],
  ['PUT', '/admin/users/1/password'],
  ['GET', '/admin/settings'],
  ['GET', '/admin/jobs'],
  ['POST', '/admin/jobs'],
  ['GET', '/admin/jobs/x'],
  ['GET', '/admin/jobs/x/context'],
  ['POST', '/admin/jobs/x/cancel'],
  ['POST', '/admin/jobs/x/replay'],
  ['GET', '/admin/status'],
] as const

const submitter =
  ({ ask }: Setup, token: string) =>
  async (payload: object, key?: string) =>
    ask({
      method: 'POST',
      url: '/admin/jobs',
      token,
      payload,
      headers: key === undefined ? {} : { 'idempotency-key': key },
    })

describe('/admin', () => {
  test('authentication and role are checked before the body: 401, then 403, whatever the body is', async (t) => {
    const { ask, account } = await setup(t)
    const { token } = await account('ann', ['CLIENT', 'OPERATOR', 'CHALLENGER', 'SCRAPER', 'WORKER_OWNER'])
    const headers = { 'content-type': 'application/json' }

    for (const [method, url] of ADMIN_ROUTES) {
      const body = method === 'GET' ? {} : { payload: '{ not json', headers }
      const stranger = await ask({ method, url, ...body })
      const player = await ask({ method, url, token, ...body })

      assert.equal(stranger.statusCode, 401, url)
      assert.deepEqual(stranger.json(), { detail: 'Invalid token' })
      assert.equal(player.statusCode, 403, url)
      assert.deepEqual(player.json(), { detail: 'Insufficient role' })
    }
  })
})

describe('/admin/users', () => {
  test('an admin makes accounts with any roles, lists them and changes their roles', async (t) => {
    const { ask, account } = await setup(t)
    const { token } = await account('root', ['ADMIN'])

    const payload = { username: 'op', password: 'p password', roles: ['OPERATOR', 'SCRAPER'] }
    const made = await ask({ method: 'POST', url: '/admin/users', token, payload })
    const taken = await ask({ method: 'POST', url: '/admin/users', token, payload })
    const id = made.json().user_id
    const changed = await ask({
      method: 'PUT',
      url: `/admin/users/${id}/roles`,
      token,
      payload: { roles: ['CHALLENGER'] },
    })
    const listed = await ask({ url: '/admin/users?after=1&limit=5', token })

    assert.equal(made.statusCode, 201)
    assert.deepEqual(made.json().roles, ['PLAYER', 'OPERATOR', 'SCRAPER'])
    assert.equal(taken.statusCode, 409)
    assert.deepEqual(changed.json().roles, ['PLAYER', 'CHALLENGER'])
    assert.deepEqual(listed.json().users, [changed.json()])
    assert(!listed.body.includes('argon2'))
  })

  test('an unknown role, an unknown account and a bad page are refused', async (t) => {
    const { ask, account } = await setup(t)
    const { token } = await account('root', ['ADMIN'])
    const put = (id: string, roles: unknown) =>
      ask({ method: 'PUT', url: `/admin/users/${id}/roles`, token, payload: { roles } })

    assert.equal((await put('1', ['KING'])).statusCode, 422)
    assert.equal((await put('1', 'ADMIN')).statusCode, 422)
    assert.equal((await put('999', [])).statusCode, 404)
    assert.equal((await put('abc', [])).statusCode, 422)
    assert.equal((await put('9'.repeat(30), [])).statusCode, 422)
    for (const query of ['limit=0', 'limit=x', 'limit=1.5', 'limit=', 'after=-1', 'limit=1&limit=2', 'limit=1e1']) {
      assert.equal((await ask({ url: `/admin/users?${query}`, token })).statusCode, 422, query)
    }
  })

  test('the last admin stays one, even when two step down at once', async (t) => {
    const { ask, account, identity } = await setup(t)
    const root = await account('root', ['ADMIN'])
    const url = `/admin/users/${root.accountId}`

    const alone = await ask({ method: 'PUT', url: `${url}/roles`, token: root.token, payload: { roles: [] } })
    const closed = await ask({ method: 'PUT', url: `${url}/active`, token: root.token, payload: { active: false } })
    const other = await account('other', ['ADMIN'])
    const both = await Promise.all([identity.setRoles(root, []), identity.setActive(other, false)])

    assert.equal(alone.statusCode, 409)
    assert.equal(closed.statusCode, 409)
    assert.equal(both.filter(({ ok }) => ok).length, 1)
  })

  test('a closed account is logged out, and stays so when it is opened again', async (t) => {
    const { ask, account } = await setup(t)
    const { token } = await account('root', ['ADMIN'])
    const ann = await account('ann')
    const set = (active: boolean) =>
      ask({ method: 'PUT', url: `/admin/users/${ann.accountId}/active`, token, payload: { active } })

    assert.equal((await set(false)).json().is_active, false)
    assert.equal((await ask({ url: '/auth/me', token: ann.token })).statusCode, 401)
    assert.equal((await set(true)).json().is_active, true)
    assert.equal((await ask({ url: '/auth/me', token: ann.token })).statusCode, 401)
  })
})

describe('/admin/jobs', () => {
  test('a job is submitted, shown with its history, listed and cancelled', async (t) => {
    const all = await setup(t)
    const { ask, account } = all
    const { token, accountId } = await account('root', ['ADMIN'])
    const submit = submitter(all, token)

    const made = await submit({ kind: 'echo', payload: { n: 1 }, priority: 7, delay_ms: 60_000, max_attempts: 2 })
    const { job_id: jobId } = made.json()
    const shown = await ask({ url: `/admin/jobs/${jobId}`, token })
    const cancelled = await ask({
      method: 'POST',
      url: `/admin/jobs/${jobId}/cancel`,
      token,
      payload: { reason: 'enough' },
    })
    const again = await ask({ method: 'POST', url: `/admin/jobs/${jobId}/cancel`, token })
    const dead = await ask({ url: `/admin/jobs/${jobId.toUpperCase()}`, token })

    assert.equal(made.statusCode, 202)
    assert.equal(made.json().state, 'pending')
    const job = shown.json()
    assert.deepEqual(
      [job.kind, job.state, job.priority, job.max_attempts, job.account_id, job.payload, job.result],
      ['echo', 'pending', 7, 2, accountId, { n: 1 }, null],
    )
    assert.notEqual(job.due_at, null)
    assert.deepEqual(cancelled.json(), { job_id: jobId, state: 'dead' })
    assert.equal(again.statusCode, 409)
    assert.equal(dead.json().reason, 'enough')
    assert.deepEqual(
      dead.json().history.map(({ what }: { what: string }) => what),
      ['submitted', 'dead'],
    )
  })

  test('the list is newest first, filtered, and paged with before', async (t) => {
    const all = await setup(t, { kinds: [{ name: 'echo' }, { name: 'other' }] })
    const { ask, account } = all
    const { token } = await account('root', ['ADMIN'])
    const submit = submitter(all, token)
    const ids: string[] = []
    for (const kind of ['echo', 'other', 'echo', 'echo'])
      ids.push((await submit({ kind, payload: null })).json().job_id)

    const first = (await ask({ url: '/admin/jobs?kind=echo&limit=2', token })).json()
    const second = (await ask({ url: `/admin/jobs?kind=echo&limit=2&before=${first.next_before}`, token })).json()
    const none = (await ask({ url: '/admin/jobs?state=dead', token })).json()

    const idsOf = (page: { jobs: { job_id: string }[] }) => page.jobs.map(({ job_id: id }) => id)
    assert.deepEqual(idsOf(first), [ids[3], ids[2]])
    assert.deepEqual(idsOf(second), [ids[0]])
    assert.equal(second.next_before, null)
    assert.deepEqual(none, { jobs: [], next_before: null })
    assert(!('payload' in first.jobs[0]))
    assert.equal((await ask({ url: '/admin/jobs?before=x', token })).statusCode, 422)
    assert.equal((await ask({ url: '/admin/jobs?state=DEAD', token })).statusCode, 422)
  })

  test('an unknown kind, an unknown field and a number out of range are refused', async (t) => {
    const all = await setup(t)
    const { token } = await all.account('root', ['ADMIN'])
    const submit = submitter(all, token)

    for (const body of [
      { kind: 'nope', payload: 1 },
      { kind: 'echo' },
      { kind: 'echo', payload: 1, prio: 1 },
      { kind: 'echo', payload: 1, priority: 10 },
      { kind: 'echo', payload: 1, priority: '5' },
      { kind: 'echo', payload: 1, delay_ms: -1 },
      { kind: 'echo', payload: 1, delay_ms: 1e15 },
      { kind: 'echo', payload: 1, max_attempts: 0 },
    ]) {
      assert.equal((await submit(body)).statusCode, 422, JSON.stringify(body))
    }
    assert.deepEqual((await all.engine.ledger.search({}, 10)).jobs, [])
  })

  test('the same key and body get the same answer, whatever the order of the fields; another body is 422', async (t) => {
    const all = await setup(t)
    const { token } = await all.account('root', ['ADMIN'])
    const submit = submitter(all, token)

    const first = await submit({ kind: 'echo', payload: { a: 1, b: [1, { c: 2, d: 3 }] } }, 'k1')
    const again = await submit({ payload: { b: [1, { d: 3, c: 2 }], a: 1 }, kind: 'echo' }, 'k1')
    const other = await submit({ kind: 'echo', payload: { a: 2 } }, 'k1')
    const many = await Promise.all(Array.from({ length: 20 }, () => submit({ kind: 'echo', payload: 1 }, 'k2')))

    assert.equal(first.statusCode, 202)
    assert.equal(again.statusCode, 202)
    assert.deepEqual(again.json(), first.json())
    assert.equal(other.statusCode, 422)
    assert.deepEqual(other.json(), { detail: 'This Idempotency-Key was used with another body.' })
    assert.equal(new Set(many.map((answer) => answer.json().job_id)).size, 1)
    for (const key of ['', 'a b', 'x'.repeat(256), 'é']) {
      assert.equal((await submit({ kind: 'echo', payload: 1 }, key)).statusCode, 422, key)
    }
  })

  test('the same key of two accounts names two jobs', async (t) => {
    const all = await setup(t)
    const root = await all.account('root', ['ADMIN'])
    const other = await all.account('other', ['ADMIN'])

    const one = await submitter(all, root.token)({ kind: 'echo', payload: 1 }, 'k')
    const two = await submitter(all, other.token)({ kind: 'echo', payload: 2 }, 'k')

    assert.equal(two.statusCode, 202)
    assert.notEqual(one.json().job_id, two.json().job_id)
  })

  test('Prefer: wait answers at the end of the job, or with its current state when the time is up', async (t) => {
    const all = await setup(t)
    const { ask, engine } = all
    const { token } = await all.account('root', ['ADMIN'])
    const { job_id: jobId } = (await submitter(all, token)({ kind: 'echo', payload: 1 })).json()
    const get = (wait: string) => ask({ url: `/admin/jobs/${jobId}`, token, headers: { prefer: wait } })

    const early = await get('wait=1')
    const waiting = get('respond-async, wait=30')
    const acquired = await engine.ledger.acquire({ jobId, owner: 'w', leaseMs: 60_000 })
    assert(acquired.ok)
    await engine.ledger.finalize({ ...acquired.job, result: { n: 2 } })
    const late = await waiting

    assert.equal(early.json().state, 'pending')
    assert.equal(early.headers['preference-applied'], 'wait=1')
    assert.equal(late.json().state, 'done')
    assert.deepEqual(late.json().result, { n: 2 })
  })

  test('a dead job is replayed once as a new one; other jobs are not', async (t) => {
    const all = await setup(t)
    const { ask } = all
    const { token } = await all.account('root', ['ADMIN'])
    const { job_id: jobId } = (await submitter(all, token)({ kind: 'echo', payload: 1 })).json()
    const replay = (id: string) => ask({ method: 'POST', url: `/admin/jobs/${id}/replay`, token })

    const alive = await replay(jobId)
    await ask({ method: 'POST', url: `/admin/jobs/${jobId}/cancel`, token })
    const first = await replay(jobId)
    const second = await replay(jobId)

    assert.equal(alive.statusCode, 409)
    assert.equal(first.statusCode, 202)
    assert.deepEqual(second.json(), first.json())
    const shown = await ask({ url: `/admin/jobs/${first.json().job_id}`, token })
    assert.equal(shown.json().replay_of, jobId)
  })

  test('what is not the id of a job is 404 everywhere', async (t) => {
    const { ask, account } = await setup(t)
    const { token } = await account('root', ['ADMIN'])

    for (const id of [newJobId(), 'x', '1', `${newJobId()}0`, '%F0%9F%98%80', 'a'.repeat(512)]) {
      assert.equal((await ask({ url: `/admin/jobs/${id}`, token })).statusCode, 404, id)
      assert.equal((await ask({ method: 'POST', url: `/admin/jobs/${id}/cancel`, token })).statusCode, 404, id)
      assert.equal((await ask({ method: 'POST', url: `/admin/jobs/${id}/replay`, token })).statusCode, 404, id)
    }
  })

  test('the status counts jobs by kind and state', async (t) => {
    const all = await setup(t)
    const { token } = await all.account('root', ['ADMIN'])
    await submitter(all, token)({ kind: 'echo', payload: 1 })

    const status = (await all.ask({ url: '/admin/status', token })).json()

    assert.deepEqual(status.jobs, [{ kind: 'echo', state: 'pending', count: 1 }])
    assert.deepEqual([status.doors, status.kinds, status.websockets], [[], ['echo'], 0])
  })
})
