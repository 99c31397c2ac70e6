// The solver frame over HTTP: where it answers, to whom, what it fetches and what it lets through.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type http from 'node:http'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { PAGE_SCRIPT } from '../../../src/doors/desk/frame/page-script.ts'
import { MISLEADING_HOSTS, PRIVATE_HOSTS } from '../../outbound/corpus.ts'
import { framed, opened, page, TASKS } from './framed.ts'
import { inBothModes, setup } from './setup.ts'
import { ask, startSite } from './site.ts'

inBothModes(
  'desk 11.1: pages are answered on the host of the frame only, and both paths redirect there',
  async (t, mode) => {
    const { url, operator, task, ticketUrl, frameUrl, open } = await framed(t, page, { mode })
    const { port } = new URL(url)
    const first = `http://frame.localhost:${port}/internal/solver-frame/${task.uuid}?t=`

    const shown = await open(frameUrl)
    const byToken = await operator.get(`/internal/solver-frame/${task.uuid}`)
    const render = await operator.get(`/api/v1/captcha/proxy/render/${task.uuid}`)
    const elsewhere = await ask(url, ticketUrl.replace('frame.localhost', '127.0.0.1'))
    const nobody = await ask(url, `${url}/internal/solver-frame/${task.uuid}`)
    const rendered = await ask(url, render.headers.get('location') ?? '')

    assert(ticketUrl.startsWith(first))
    assert.deepEqual([byToken.status, render.status, elsewhere.status, nobody.status], [302, 302, 302, 401])
    assert.equal(elsewhere.headers.location, ticketUrl)
    assert(byToken.headers.get('location')?.startsWith(first))
    assert.deepEqual([rendered.status, rendered.headers.location], [302, frameUrl])
    assert(shown.status === 200 && shown.text.includes('<title>Shop</title>'))
  },
)

test('desk 11.2: the frame is sandboxed, whatever the site says', async (t) => {
  const { url, frameUrl, open } = await framed(t, page)
  const { port } = new URL(url)

  const { headers } = await open(frameUrl)

  const policy = String(headers['content-security-policy'])
  assert(
    policy.startsWith(
      `sandbox allow-scripts allow-forms; frame-ancestors http://localhost:${port} http://127.0.0.1:${port};`,
    ),
    policy,
  )
  assert(!policy.includes('allow-same-origin'))
  for (const name of ['set-cookie', 'x-frame-options', 'strict-transport-security'])
    assert.equal(headers[name], undefined, name)
  assert.deepEqual([headers['referrer-policy'], headers['cache-control']], ['no-referrer', 'no-store'])
})

test('desk 11.3: the host of the frame answers pages and nothing else, even with CAPTCHA_AUTH=off', async (t) => {
  const { url } = await setup(t, { env: { CAPTCHA_AUTH: 'off' } })
  const json = { 'content-type': 'application/json' }
  const created = await ask(url, `${url}${TASKS}`, {
    method: 'POST',
    headers: json,
    body: '{"url":"https://shop.example/"}',
  })
  const { uuid } = JSON.parse(created.text)
  const there = url.replace('127.0.0.1', 'frame.localhost')
  const release = `${TASKS}/${uuid}/release`
  await ask(url, `${url}${TASKS}/${uuid}/assign`, { method: 'POST', headers: json, body: '{"operator_id":"ann"}' })

  const atFrame = [
    await ask(url, there + release, { method: 'POST' }),
    await ask(url, there + TASKS),
    await ask(url, `${there}/ws/captcha`),
    await ask(url, `${there.toUpperCase().replace('HTTP', 'http')}${release}`, { method: 'POST' }),
  ]
  const atConsole = await ask(url, url + release, { method: 'POST' })

  assert.deepEqual(
    atFrame.map(({ status }) => status),
    [404, 404, 404, 404],
  )
  assert.equal(atConsole.status, 200)
  await assert.rejects(setup(t, { env: { PUBLIC_URL: 'https://frame.localhost' } }), /FRAME_HOST must be another/)
})

test('desk 11.4: preflight requests of a page are answered, and no ticket is logged', async (t) => {
  const lines: string[] = []
  const { ticketUrl, cookie, frameUrl: inner, open } = await framed(t, page, { lines })
  const ticket = new URL(ticketUrl).searchParams.get('t') ?? ''

  const asked = await open(`${inner}/http/shop.org/api`, { method: 'OPTIONS', headers: { origin: 'null' } })
  const others = [
    await open(`${inner}/http/shop.org/api`, { method: 'PUT', body: 'x' }),
    await open(`${inner}/x`),
    await open(`${inner}/http/shop.org`),
  ]

  assert.deepEqual(
    ['origin', 'credentials', 'headers'].map((what) => asked.headers[`access-control-allow-${what}`]),
    ['null', 'true', 'content-type'],
  )
  assert.equal(asked.status, 204)
  for (const { status } of others) assert(status === 404 || status === 405, `${status}`)
  assert(lines.some((line) => line.includes('/internal/solver-frame/*')))
  assert(ticket.length > 50 && cookie.length > 50)
  assert(!lines.some((line) => line.includes(ticket) || line.includes(cookie)))
})

test('desk 11.5: addresses are rewritten to the frame for listed domains only', async (t) => {
  const { site, task, frameUrl, open } = await framed(t, page)
  const inFrame = (path: string, scheme = 'http') =>
    `/internal/solver-frame/${task.uuid}/${scheme}/${site.domain}${path}`

  const { text } = await open(frameUrl)
  const css = await open(inFrame('/style.css'))
  const next = await open(inFrame('/next?y=2'))

  assert(text.includes(`<base href="${inFrame('/shop/cart?x=1')}">`), text)
  assert(text.includes(`<a href="${inFrame('/next?y=2')}">n</a>`), text)
  assert(
    text.includes(`src="${inFrame('/shop/pic.png')}" srcset="${inFrame('/s1.png')} 1x, ${inFrame('/shop/s2.png')} 2x"`),
    text,
  )
  assert(text.includes(`action="${inFrame('/login')}"`))
  assert(text.includes(`<iframe src="${inFrame('/inner', 'http-inner')}">`))
  assert(text.includes(`url("${inFrame('/i.png')}")`) && text.includes(`url(&quot;${inFrame('/p.png')}&quot;)`), text)
  assert(text.includes('href="https://elsewhere.org/x"') && text.includes('href="mailto:a@b.c"'))
  assert(!text.includes('Content-Security-Policy') && !text.includes('target=') && !text.includes('ping='))
  assert(text.includes('<script>var a = "</a>"</script>'))
  assert.equal(
    css.text,
    `a{background:url("${inFrame('/a.png')}")} b{background:url("${inFrame('/b.png')}")} @import "${inFrame('/c.css')}";`,
  )
  assert.equal(next.status, 200)
  assert.deepEqual(
    site.requests.map(({ url }) => url),
    ['/shop/cart?x=1', '/style.css', '/next?y=2'],
  )
})

test('desk 11.6: nothing of the console goes out; cookies of the page stay on the server and are proposed', async (t) => {
  const { site, task, operator, other, frameUrl, cookie, open, solve, admin } = await framed(t, page)
  const console = {
    cookie: `console=secret; ${cookie}`,
    authorization: 'Bearer secret',
    referer: 'http://localhost/console',
    'x-api-key': 'secret',
    origin: 'null',
  }

  await open(frameUrl, { headers: console })
  const login = `/internal/solver-frame/${task.uuid}/http/${site.domain}/login`
  await open(login, {
    method: 'POST',
    headers: { ...console, 'content-type': 'application/x-www-form-urlencoded' },
    body: 'a=1&b=2',
  })
  const proposed = await operator.get(`${TASKS}/${task.uuid}/cookies`)
  const others = await other.get(`${TASKS}/${task.uuid}/cookies`)
  await solve(task.uuid, operator, { payload: proposed.body.cookies })
  const trail = await admin.get(`/api/v1/captcha/audit?uuid=${task.uuid}&action=cookies_shown`)

  const [first, second] = site.requests
  assert(
    !JSON.stringify([first, second]).match(/secret|reeve_frame/) && !JSON.stringify(site.requests).includes('console'),
  )
  assert.deepEqual([first?.headers['user-agent'], first?.headers.cookie], ['Agent/7', undefined])
  assert.deepEqual(
    [second?.method, second?.body, second?.headers.cookie, second?.headers.origin],
    ['POST', 'a=1&b=2', 'page=from-the-site', `http://${site.domain}`],
  )
  assert.deepEqual(
    proposed.body.cookies.map((cookie: Record<string, unknown>) => [
      cookie['name'],
      cookie['value'],
      cookie['path'],
      cookie['http_only'],
      cookie['secure'],
    ]),
    [
      ['other', '2', '/shop', false, true],
      ['page', 'from-the-site', '/', true, false],
    ],
  )
  assert.deepEqual([others.status, trail.body.entries.length], [409, 1])
})

test('desk 11.7: at most 100 cookies are kept, and the page is shown whatever it sets', async (t) => {
  let next = 0
  const greedy: http.RequestListener = (_request, response) => {
    const many = Array.from({ length: 60 }, () => `many=1; Path=/${(next += 1)}`)
    const odd = [
      `long=1; Path=/${randomBytes(3000).toString('hex')}`,
      'far=1; Expires=Fri, 01 Jan 99999 00:00:00 GMT; SameSite=whatever this is supposed to mean',
      'gone=1; Expires=-000001-01-01T00:00:00Z',
    ]
    response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': [...odd, ...many] }).end('<p>kept</p>')
  }
  const { task, operator, frameUrl, open, solve } = await framed(t, greedy)

  const shown = [await open(frameUrl), await open(frameUrl), await open(frameUrl)].map(({ status }) => status)
  const { body } = await operator.get(`${TASKS}/${task.uuid}/cookies`)
  const solved = await solve(task.uuid, operator, { payload: body.cookies })

  assert.deepEqual(shown, [200, 200, 200])
  assert.deepEqual([...new Set(body.cookies.map((cookie: { name: string }) => cookie.name))], ['far', 'many'])
  assert.equal(body.cookies.length, 99) // one more is past, and not shown
  assert.equal(solved.status, 200)
})

test('desk 11.10: a domain that is not on the list, or reserved, is never fetched', async (t) => {
  const redirecting: http.RequestListener = (request, response) => {
    if (request.url === '/away') response.writeHead(302, { location: 'http://127.0.0.2:1/' }).end()
    else if (request.url === '/here') response.writeHead(302, { location: '/there' }).end()
    else page(request, response)
  }
  const { url, site, task, admin, frameUrl, open, create, assign, operator } = await framed(t, redirecting)
  const other = await startSite(t, page)
  const at = (domain: string, path = '/') => `/internal/solver-frame/${task.uuid}/http/${domain}${path}`

  const unlisted = await open(at(other.domain))
  const away = await open(at(site.domain, '/away'))
  const here = await open(at(site.domain, '/here'))
  await admin.delete(`/api/v1/captcha/domains/${site.domain}`)
  const before = site.connections()
  const takenOff = await open(frameUrl)
  const reserved = await create({ url: 'https://www.example.com/', error_message: '<script>alert(1)</script>' })
  await assign(reserved.uuid)
  const itsFrame = await opened({ url, operator }, reserved.uuid)
  const shown = await itsFrame.open(itsFrame.frameUrl)

  assert.deepEqual([unlisted.status, other.connections()], [403, 0])
  assert.deepEqual([away.status, away.headers.location], [403, undefined])
  assert.deepEqual([here.status, here.headers.location], [302, at(site.domain, '/there')])
  assert.deepEqual([takenOff.status, site.connections()], [403, before])
  assert.equal(shown.status, 200)
  assert(shown.text.includes('&lt;script&gt;alert(1)&lt;/script&gt;') && !shown.text.includes('<script>alert'))
})

test('desk 11.11: addresses that the outgoing guard refuses are refused, even if they are on the list', async (t) => {
  const { task, open, database, site } = await framed(t, page, { env: { OUTBOUND_ALLOW_CIDRS: '' } })
  const before = site.connections()
  const statuses = new Map<string, number>()

  for (const host of [...PRIVATE_HOSTS, ...MISLEADING_HOSTS]) {
    for (const [scheme, port] of [
      ['http', site.port],
      ['https', site.port],
    ] as const) {
      const { host: normal } = new URL(`http://${host}:${port}/`)
      const entries = [normal, `${host}:${port}`]
      await database.query(
        `insert into captcha_domain (domain, reason, added_by) select unnest($1::text[]), 'x', 'x' on conflict do nothing`,
        [entries],
      )
      const { status } = await open(`/internal/solver-frame/${task.uuid}/${scheme}/${host}:${port}/`)
      statuses.set(`${scheme} ${host}`, status)
    }
  }

  for (const [what, status] of statuses) assert([400, 403, 404].includes(status), `${what} ${status}`)
  assert.equal(site.connections(), before)
})

test('desk 11.12: a site that does not answer in time is a 504', async (t) => {
  const { frameUrl, open } = await framed(t, () => {}, { env: { CAPTCHA_PROXY_TIMEOUT: '1' } })

  assert.equal((await open(frameUrl)).status, 504)
})

test('desk 11.12: the size is limited, compressed answers are unpacked, other files pass unchanged', async (t) => {
  const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024))
  const answers: http.RequestListener = (request, response) => {
    if (request.url === '/huge') return response.end(Buffer.alloc(11 * 1024 * 1024))
    if (request.url === '/bomb') return response.setHeader('content-encoding', 'gzip').end(bomb)
    if (request.url === '/packed')
      return response
        .writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'text/html' })
        .end(gzipSync('<p>packed</p>'))
    if (request.url === '/latin')
      return response
        .setHeader('content-type', 'text/html; charset=iso-8859-1')
        .end(Buffer.from('<p>caf\xe9</p>', 'latin1'))
    if (request.url === '/script') return response.setHeader('content-type', 'text/javascript').end('var u = "/a"')
    return page(request, response)
  }
  const { site, task, open } = await framed(t, answers)
  const get = (path: string) => open(`/internal/solver-frame/${task.uuid}/http/${site.domain}${path}`)

  assert.deepEqual([(await get('/huge')).status, (await get('/bomb')).status], [502, 502])
  assert.equal((await get('/packed')).text, `${PAGE_SCRIPT}<p>packed</p>`)
  assert.equal((await get('/latin')).text, `${PAGE_SCRIPT}<p>café</p>`)
  assert.equal((await get('/script')).text, 'var u = "/a"')
})
