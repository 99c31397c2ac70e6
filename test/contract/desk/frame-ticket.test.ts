// Who may see the frame of a task: the ticket, the cookie it is exchanged for, and what they allow.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { framed, page, TASKS } from './framed.ts'
import { ask, startSite } from './site.ts'

test('desk 11.8: a ticket opens the frame of one task once, and the page’s address holds nothing secret', async (t) => {
  const { url, task, operator, create, site, ticketUrl, exchanged, frameUrl, cookie, open } = await framed(t, page)
  const mine = await create({ url: `http://${site.domain}/`, user_agent: 'Agent/8' })
  const { url: unused } = (await operator.post(`${TASKS}/${task.uuid}/frame`)).body
  const { url: newest } = (await operator.post(`${TASKS}/${task.uuid}/frame`)).body

  const refused = [
    await ask(url, ticketUrl),
    await ask(url, unused),
    await ask(url, newest.replace(task.uuid, mine.uuid)),
    await ask(
      url,
      newest.replace(/.$/, (last: string) => (last === 'A' ? 'B' : 'A')),
    ),
    await ask(url, `${ticketUrl.replace(/\?.*/, '')}?t=${cookie.slice(cookie.indexOf('=') + 1)}`),
  ]
  const reloaded = await open(ticketUrl)
  const first = await ask(url, newest)
  const shown = await open(frameUrl)
  const unheld = await operator.post(`${TASKS}/${mine.uuid}/frame`)

  assert.deepEqual([exchanged.status, exchanged.headers.location], [302, frameUrl])
  assert.match(
    String(exchanged.headers['set-cookie']),
    new RegExp(`; Path=${frameUrl}; Max-Age=\\d+; HttpOnly; Secure; SameSite=None; Partitioned$`),
  )
  assert.deepEqual(
    refused.map(({ status, headers }) => [status, headers['set-cookie']]),
    refused.map(() => [403, undefined]),
  )
  assert.deepEqual([reloaded.status, reloaded.headers['set-cookie']], [302, undefined])
  assert.deepEqual([first.status, shown.status, unheld.status], [302, 200, 409])
  const secrets = [ticketUrl, newest].map((address) => new URL(address).searchParams.get('t') ?? '')
  assert(![cookie.slice('reeve_frame='.length), ...secrets].some((secret) => shown.text.includes(secret)))
})

test('desk 11.8: the frame’s cookie is valid for one task, for its holder, and for 15 minutes', async (t) => {
  const { url, task, operator, other, create, assign, frameUrl, cookie, open, site } = await framed(t, page)
  const mine = await create({ url: `http://${site.domain}/`, user_agent: 'Agent/8' })
  await assign(mine.uuid)
  const at = (headers: object, address = frameUrl) =>
    ask(url, new URL(address, `http://frame.localhost:${new URL(url).port}`).href, { headers })
  const file = `${frameUrl}/http/${site.domain}/style.css`

  const allowed = [await at({ cookie }), await at({ cookie }, file)]
  const refused = [
    await at({}),
    await at({}, file),
    await at({ cookie }, frameUrl.replace(task.uuid, mine.uuid)),
    await at({ cookie: cookie.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')) }),
  ]
  await operator.post(`${TASKS}/${task.uuid}/release`)
  const released = await open(frameUrl)
  await assign(task.uuid, other)
  const others = await open(frameUrl)

  assert.deepEqual(
    [...allowed, ...refused].map(({ status }) => status),
    [200, 200, 403, 403, 403, 403],
  )
  assert.deepEqual([released.status, others.status], [403, 403])
})

test('desk 11.8: the frame ends with the session of the operator who asked for it', async (t) => {
  const { frameUrl, open, operator } = await framed(t, page)
  const before = await open(frameUrl)

  const out = await operator.post('/auth/logout')
  const after = await open(frameUrl)

  assert.deepEqual([before.status, out.status < 300, after.status], [200, true, 403])
})

test('desk 11.9: a ticket sends cookies and forms to the site of its own task only', async (t) => {
  const { task, open, operator, admin } = await framed(t, page)
  const other = await startSite(t, (_request, response) => response.setHeader('set-cookie', 'theirs=1').end('theirs'))
  await admin.post('/api/v1/captcha/domains', { domain: other.domain, reason: 'ours' })
  const there = `/internal/solver-frame/${task.uuid}/http/${other.domain}/a`

  const read = [await open(there), await open(there)]
  const posted = await open(there, { method: 'POST', body: 'a=1' })
  const proposed = await operator.get(`${TASKS}/${task.uuid}/cookies`)

  assert.deepEqual([read[0]?.status, read[1]?.text, posted.status], [200, 'theirs', 403])
  assert.deepEqual(
    other.requests.map(({ method, headers }) => [method, headers.cookie]),
    [
      ['GET', undefined],
      ['GET', undefined],
    ],
  )
  assert.deepEqual(proposed.body.cookies, [])
})
