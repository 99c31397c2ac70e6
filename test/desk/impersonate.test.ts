// Clients that dial by themselves, and proxies that dial for us, go where the guard and the list allow and nowhere else.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import { describe, test, type TestContext } from 'node:test'
import { pino } from 'pino'
import { openOutbound, type Resolve } from '../../src/core/outbound/outbound.ts'
import { openCheckedProxy } from '../../src/doors/desk/frame/checked-proxy.ts'
import { openFetcher } from '../../src/doors/desk/frame/fetch-page.ts'
import { openImpersonator } from '../../src/doors/desk/frame/impersonate.ts'
import { openProxies } from '../../src/doors/desk/domains/proxies.ts'
import { dialThrough } from '../../src/doors/desk/frame/upstream-proxy.ts'
import { MISLEADING_HOSTS, PRIVATE_HOSTS } from '../outbound/corpus.ts'
import { CERT, KEY } from './certificate.ts'

const LOOPBACK = { address: '127.0.0.1', family: 4 }
const log = pino({ level: 'silent' })
const TIMEOUT_MS = 60_000

async function listening(t: TestContext, server: http.Server | https.Server | net.Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    if ('closeAllConnections' in server) server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  assert(typeof address === 'object' && address !== null)
  return address.port
}

/** A site with TLS that counts who comes. */
async function site(t: TestContext, answer: http.RequestListener = (_request, response) => response.end('hello')) {
  const requests: http.IncomingHttpHeaders[] = []
  let connections = 0
  const server = https.createServer({ key: KEY, cert: CERT }, (request, response) => {
    requests.push(request.headers)
    answer(request, response)
  })
  server.on('connection', () => (connections += 1))
  return { port: await listening(t, server), requests, connections: () => connections }
}

interface WorldOptions {
  allowCidrs?: readonly string[]
  resolve?: Resolve
  listed?: (domain: string) => boolean
  proxies?: readonly string[]
  browser?: string
  timeoutMs?: number
}

async function world(t: TestContext, options: WorldOptions = {}) {
  const {
    allowCidrs = ['127.0.0.1/32'],
    resolve = async () => [LOOPBACK],
    listed = () => true,
    browser = 'chrome124',
    timeoutMs = TIMEOUT_MS,
  } = options
  const outbound = openOutbound({ allowCidrs, resolve })
  const proxies = openProxies(options.proxies ?? [])
  const mayFetch = async (domain: string) => listed(domain)
  const dialOf = (way: string) => {
    const proxy = proxies.byId(way)
    return proxy === null ? null : dialThrough(proxy.url)
  }
  const impersonator = await openImpersonator({
    outbound,
    mayFetch,
    dialOf,
    timeoutMs,
    browser,
    log,
    ignoreTlsErrors: true,
  })
  if (impersonator === null) return null
  t.after(() => impersonator.close())
  const fetchPage = openFetcher({
    outbound,
    mayFetch,
    proxies,
    impersonator: async () => impersonator,
    timeoutMs,
  })
  const get = (url: string, proxyId: string | null = null) =>
    fetchPage({
      url: new URL(url),
      method: 'GET',
      headers: { 'accept-language': 'en' },
      body: Buffer.alloc(0),
      proxyId,
    })
  return { get, proxies, impersonator }
}

const NOT_INSTALLED = 'impit is optional, and not installed here'

describe('a browser’s handshake', () => {
  test('reaches a listed domain at the address that was checked, as the browser it is told to be', async (t) => {
    const there = await site(t, (_request, response) => {
      response.writeHead(200, { 'set-cookie': ['a=1', 'b=2'], 'content-type': 'text/html' }).end('<p>hello</p>')
    })
    let lookups = 0
    const made = await world(t, {
      resolve: async () => [lookups++ < 2 ? LOOPBACK : { address: '127.0.0.9', family: 4 }],
    })
    if (made === null) return t.skip(NOT_INSTALLED)

    const answer = await made.get(`https://shop.org:${there.port}/x`)

    assert(answer.ok, JSON.stringify(answer))
    assert.deepEqual([answer.status, answer.body.toString(), answer.setCookies], [200, '<p>hello</p>', ['a=1', 'b=2']])
    assert.match(there.requests[0]?.['user-agent'] ?? '', /Chrome\/124/)
    assert.equal(there.requests[0]?.['host'] ?? there.requests[0]?.[':authority'], `shop.org:${there.port}`)
    return undefined
  })

  test('obeys the outgoing guard: private and misleading hosts are not dialled, even if they are on the list', async (t) => {
    const there = await site(t)
    const made = await world(t, { allowCidrs: [] })
    if (made === null) return t.skip(NOT_INSTALLED)

    for (const host of [...PRIVATE_HOSTS, ...MISLEADING_HOSTS]) {
      const answer = await made.get(`https://${host}:${there.port}/`)
      assert.equal(answer.ok, false, host)
    }
    assert.equal(there.connections(), 0)
    return undefined
  })

  test('obeys the outgoing guard when it dials by itself: nothing bypasses the checked proxy', async (t) => {
    const there = await site(t)
    const made = await world(t, { allowCidrs: [] })
    if (made === null) return t.skip(NOT_INSTALLED)
    const request = {
      method: 'GET',
      headers: {},
      body: Buffer.alloc(0),
      way: 'direct',
      timeoutMs: TIMEOUT_MS,
      bytesMax: 1000,
    }

    for (const host of ['127.0.0.1', 'localhost', 'shop.org']) {
      const answer = await made.impersonator.fetch({ ...request, url: new URL(`https://${host}:${there.port}/`) })
      assert.deepEqual(answer, { ok: false, code: 'network_error' }, host)
    }
    assert.equal(there.connections(), 0)
    return undefined
  })

  test('is not shown to a domain that is not on the list, and follows no redirect', async (t) => {
    const other = await site(t)
    const there = await site(t, (_request, response) =>
      response.writeHead(302, { location: `https://other.org:${other.port}/` }).end(),
    )
    const made = await world(t, { listed: (domain) => domain.startsWith('shop.org') })
    if (made === null) return t.skip(NOT_INSTALLED)

    const redirect = await made.get(`https://shop.org:${there.port}/`)
    const unlisted = await made.get(`https://other.org:${other.port}/`)

    assert.equal(redirect.ok && redirect.status, 302)
    assert.deepEqual(unlisted, { ok: false, code: 'domain_not_authorised' })
    assert.equal(other.connections(), 0)
    return undefined
  })

  test('is cut off at the configured size and time', async (t) => {
    const huge = await site(t, (_request, response) => response.end(Buffer.alloc(11 * 1024 * 1024)))
    const silent = await site(t, () => {})
    const [patient, hurried] = [await world(t), await world(t, { timeoutMs: 300 })]
    if (patient === null || hurried === null) return t.skip(NOT_INSTALLED)

    assert.deepEqual(await patient.get(`https://shop.org:${huge.port}/`), { ok: false, code: 'answer_too_large' })
    assert.deepEqual(await hurried.get(`https://shop.org:${silent.port}/`), { ok: false, code: 'timed_out' })
    return undefined
  })

  test('is not available for an unknown browser', async (t) => {
    assert.equal(await world(t, { browser: 'netscape4' }), null)
    assert.equal(await world(t, { browser: 'none' }), null)
  })
})

describe('the checked proxy', () => {
  test('serves only clients that know its secret, and connects only to allowed hosts', async (t) => {
    const there = await site(t)
    const proxy = await openCheckedProxy({
      outbound: openOutbound({ allowCidrs: ['127.0.0.1/32'], resolve: async () => [LOOPBACK] }),
      mayFetch: async (domain) => domain.startsWith('shop.org'),
      dialOf: () => null,
      timeoutMs: TIMEOUT_MS,
    })
    t.after(() => proxy.close())
    const { port, username, password } = new URL(proxy.urlFor('direct'))
    const connect = async (target: string, credentials: string | null) => {
      const socket = net.connect(Number(port), '127.0.0.1')
      const auth =
        credentials === null ? '' : `Proxy-Authorization: Basic ${Buffer.from(credentials).toString('base64')}\r\n`
      socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${auth}\r\n`)
      const [head] = await once(socket, 'data')
      socket.destroy()
      return Number(/^HTTP\/1\.1 (\d+)/.exec(String(head))?.[1])
    }
    const mine = `${username}:${password}`

    assert.equal(await connect(`shop.org:${there.port}`, mine), 200)
    assert.equal(await connect(`shop.org:${there.port}`, null), 407)
    assert.equal(await connect(`shop.org:${there.port}`, 'direct:guess'), 407)
    assert.equal(await connect(`other.org:${there.port}`, mine), 403)
    assert.equal(await connect(`shop.org:${there.port}`, `elsewhere:${password}`), 403)
    assert.equal(await connect('not a host', mine), 400)
  })
})

describe('a configured proxy', () => {
  test('is asked to connect to the checked address, with its password, and its answer is used', async (t) => {
    const there = http.createServer((_request, response) => response.end('through the proxy'))
    const port = await listening(t, there)
    const asked: { target: string; auth: string | undefined }[] = []
    const upstream = http.createServer()
    upstream.on('connect', (request: http.IncomingMessage, client: net.Socket) => {
      asked.push({ target: request.url ?? '', auth: request.headers['proxy-authorization'] })
      const onward = net.connect(port, '127.0.0.1', () => {
        client.write('HTTP/1.1 200 OK\r\n\r\n')
        onward.pipe(client).pipe(onward)
      })
      onward.on('error', () => client.destroy())
      client.on('error', () => onward.destroy())
    })
    const proxyPort = await listening(t, upstream)
    const url = `http://user:p%40ss@127.0.0.1:${proxyPort}`
    const proxies = openProxies([url])
    const fetchPage = openFetcher({
      outbound: openOutbound({ allowCidrs: [], resolve: async () => [{ address: '93.184.216.34', family: 4 }] }),
      mayFetch: async () => true,
      proxies,
      impersonator: async () => null,
      timeoutMs: TIMEOUT_MS,
    })
    const get = (target: string, proxyId: string | null) =>
      fetchPage({ url: new URL(target), method: 'GET', headers: {}, body: Buffer.alloc(0), proxyId })

    const answer = await get('http://shop.org/', proxies.find(url)?.id ?? '')
    const forbidden = await get('http://10.0.0.1/', proxies.find(url)?.id ?? '')
    const unknown = await get('http://shop.org/', 'gone')

    assert.equal(answer.ok && answer.body.toString(), 'through the proxy')
    assert.deepEqual(asked, [
      { target: '93.184.216.34:80', auth: `Basic ${Buffer.from('user:p@ss').toString('base64')}` },
    ])
    assert.deepEqual(
      [forbidden, unknown],
      [
        { ok: false, code: 'forbidden_address' },
        { ok: false, code: 'unknown_proxy' },
      ],
    )
  })

  test('that refuses, hangs up or says nothing is an error in time', async (t) => {
    const answers = ['HTTP/1.1 407 No\r\n\r\n', '', 'x'.repeat(20_000)]
    for (const said of answers) {
      const server = net.createServer((socket) => {
        socket.on('error', () => {})
        if (said === '') socket.end()
        else socket.write(said)
      })
      const port = await listening(t, server)
      await assert.rejects(
        dialThrough(`http://127.0.0.1:${port}`)({ ...LOOPBACK, port: 1 }, AbortSignal.timeout(TIMEOUT_MS)),
      )
    }
    const silent = net.createServer((socket) => void socket.on('error', () => {}))
    const port = await listening(t, silent)
    await assert.rejects(dialThrough(`http://127.0.0.1:${port}`)({ ...LOOPBACK, port: 1 }, AbortSignal.timeout(100)))
  })
})
