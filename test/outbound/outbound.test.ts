import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import http from 'node:http'
import https from 'node:https'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import net from 'node:net'
import { openOutbound, type Address, type Resolve } from '../../src/core/outbound/outbound.ts'
import { VERSION } from '../../src/core/version.ts'
import { CERT, KEY } from '../desk/certificate.ts'
import { temporaryFolder } from '../support/servers.ts'
import { MISLEADING_HOSTS, PRIVATE_HOSTS } from './corpus.ts'

const LOOPBACK = { address: '127.0.0.1', family: 4 }

/** A server on the loopback that counts the connections that were made to it. */
async function setup(t: TestContext, answer: http.RequestListener = (_request, response) => response.end('ok')) {
  let connections = 0
  const server = http.createServer(answer).listen(0, '127.0.0.1')
  server.on('connection', () => (connections += 1))
  await once(server, 'listening')
  t.after(() => server.close())
  t.after(() => server.closeAllConnections())
  const address = server.address()
  assert(typeof address === 'object' && address !== null)
  return { port: address.port, connections: () => connections }
}

async function setupTls(t: TestContext) {
  const server = https.createServer({ key: KEY, cert: CERT }, (_request, response) => response.end('ok'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  t.after(() => server.closeAllConnections())
  const address = server.address()
  assert(typeof address === 'object' && address !== null)
  return { port: address.port }
}

const to = (url: string) => ({ url, method: 'POST', headers: {}, body: '{}', timeoutMs: 60_000 })
const resolving =
  (...addresses: Address[]): Resolve =>
  async () =>
    addresses
const v4 = (address: string) => ({ address, family: 4 })
const v6 = (address: string) => ({ address, family: 6 })

describe('outgoing requests', () => {
  test('no connection is made to an address that is not public', async (t) => {
    const { port, connections } = await setup(t)
    const outbound = openOutbound({ allowCidrs: [] })

    for (const host of PRIVATE_HOSTS) {
      const answer = await outbound.request(to(`http://${host}:${port}/`))
      assert.deepEqual(answer, { ok: false, code: 'forbidden_address' }, host)
    }
    assert.equal(connections(), 0)
  })

  test('no connection is made where the address is written to mislead', async (t) => {
    const { port, connections } = await setup(t)
    const outbound = openOutbound({ allowCidrs: ['127.0.0.0/8'] })

    for (const host of MISLEADING_HOSTS) {
      const answer = await outbound.request(to(`http://${host}:${port}/`))
      assert.deepEqual(answer, { ok: false, code: 'ambiguous_address' }, host)
    }
    assert.equal(connections(), 0)
  })

  test('credentials, other protocols and what is no URL are refused', async () => {
    const outbound = openOutbound({ allowCidrs: ['127.0.0.0/8'] })
    const codes = async (url: string) => {
      const answer = await outbound.request(to(url))
      return answer.ok ? 'ok' : answer.code
    }

    assert.equal(await codes('http://user:pass@127.0.0.1/'), 'credentials_in_url')
    assert.equal(await codes('http://127.0.0.1@127.0.0.1/'), 'credentials_in_url')
    assert.equal(await codes('ftp://127.0.0.1/'), 'invalid_url')
    assert.equal(await codes('file:///etc/passwd'), 'invalid_url')
    assert.equal(await codes('nonsense'), 'invalid_url')
    assert.equal(await codes(`http://127.0.0.1/${'a'.repeat(2048)}`), 'invalid_url')
  })

  test('a name that resolves to a private address, alone or among public ones, is refused', async (t) => {
    const { port, connections } = await setup(t)
    const answers = [
      [LOOPBACK],
      [v4('93.184.216.34'), LOOPBACK],
      [v6('::1')],
      [v6('::ffff:7f00:1')],
      [v6('64:ff9b::a00:1')],
      [v6('fe80::1%lo')],
    ]

    for (const addresses of answers) {
      const outbound = openOutbound({ allowCidrs: [], resolve: resolving(...addresses) })
      const answer = await outbound.request(to(`http://callback.example:${port}/`))
      assert.deepEqual(answer, { ok: false, code: 'forbidden_address' })
    }
    assert.equal(connections(), 0)
  })

  test('a name that changes between look-ups is looked up once, and the checked address is dialled', async (t) => {
    const { port, connections } = await setup(t)
    let lookups = 0
    const rebinding: Resolve = async () => [lookups++ === 0 ? v4('192.0.2.1') : LOOPBACK]
    const outbound = openOutbound({ allowCidrs: ['192.0.2.0/24'], resolve: rebinding })

    const answer = await outbound.request({ ...to(`http://rebind.example:${port}/`), timeoutMs: 200 })

    assert.equal(answer.ok, false)
    assert.equal(lookups, 1)
    assert.equal(connections(), 0)
  })

  test('an opened range is reached, by the name that was asked for', async (t) => {
    const hosts: (string | undefined)[] = []
    const { port } = await setup(t, (request, response) => {
      hosts.push(request.headers.host)
      response.end('hello')
    })
    const outbound = openOutbound({ allowCidrs: ['127.0.0.1/32'], resolve: resolving(LOOPBACK) })

    const answer = await outbound.request(to(`http://callback.example:${port}/`))

    assert(answer.ok)
    assert.equal(answer.body.toString(), 'hello')
    assert.deepEqual(hosts, [`callback.example:${port}`])
  })

  test('an address that the owner chose may be private', async (t) => {
    const { port } = await setup(t)
    const outbound = openOutbound({ allowCidrs: [] })

    assert.equal((await outbound.request({ ...to(`http://127.0.0.1:${port}/`), isTrusted: true })).ok, true)
  })

  test('a redirect is an answer and is not followed', async (t) => {
    const other = await setup(t)
    const { port } = await setup(t, (_request, response) =>
      response.writeHead(302, { location: `http://127.0.0.1:${other.port}/` }).end(),
    )
    const outbound = openOutbound({ allowCidrs: ['127.0.0.1/32'] })

    const answer = await outbound.request(to(`http://127.0.0.1:${port}/`))

    assert(answer.ok)
    assert.equal(answer.status, 302)
    assert.equal(other.connections(), 0)
  })

  test('a body that is too long is cut and the connection closed, for a caller that needs only the status', async (t) => {
    const closed = new EventEmitter()
    const { port } = await setup(t, (request, response) => {
      request.socket.once('close', () => closed.emit('closed'))
      response.write(Buffer.alloc(200_000, 'a'))
    })
    const hungUp = once(closed, 'closed')
    const outbound = openOutbound({ allowCidrs: ['127.0.0.1/32'] })

    const answer = await outbound.request({ ...to(`http://127.0.0.1:${port}/`), cutsBody: true })

    assert(answer.ok)
    assert.deepEqual([answer.status, answer.body.length], [200, 65_536])
    await hungUp
  })

  test('sends a User-Agent, unless the caller sets one', async (t) => {
    const agents: (string | undefined)[] = []
    const { port } = await setup(t, (request, response) => {
      agents.push(request.headers['user-agent'])
      response.end()
    })
    const outbound = openOutbound({ allowCidrs: ['127.0.0.1/32'] })

    await outbound.request(to(`http://127.0.0.1:${port}/`))
    await outbound.request({ ...to(`http://127.0.0.1:${port}/`), headers: { 'User-Agent': 'Mozilla/5.0' } })

    assert.deepEqual(agents, [`Reeve/${VERSION}`, 'Mozilla/5.0'])
  })

  test('a refused connection and a failed TLS handshake are told apart, each with its cause', async (t) => {
    const { port } = await setupTls(t)
    const outbound = openOutbound({ allowCidrs: ['127.0.0.1/32'] })

    const [tls, refused] = await Promise.all([
      outbound.request(to(`https://127.0.0.1:${port}/`)),
      outbound.request(to('https://127.0.0.1:1/')),
    ])

    assert.deepEqual(tls, { ok: false, code: 'tls_error', cause: 'DEPTH_ZERO_SELF_SIGNED_CERT' })
    assert.deepEqual(refused, { ok: false, code: 'network_error', cause: 'ECONNREFUSED' })
  })

  test('OUTBOUND_CA_FILE: a certificate of a private authority is trusted, beside the public ones', async (t) => {
    const { port } = await setupTls(t)
    const folder = await temporaryFolder(t)
    const caFile = join(folder, 'ca.pem')
    await writeFile(caFile, CERT)
    const outbound = openOutbound({ allowCidrs: ['127.0.0.1/32'], caFile })

    const answer = await outbound.request(to(`https://127.0.0.1:${port}/`))

    assert(answer.ok, JSON.stringify(answer))
    const missing = join(folder, 'none.pem')
    assert.throws(() => openOutbound({ allowCidrs: [], caFile: missing }), /OUTBOUND_CA_FILE: cannot use .*none\.pem/)
  })

  test('time and size are capped, the look-up included', async (t) => {
    const silent = await setup(t, () => {})
    const endless = await setup(t, (_request, response) => {
      response.write(Buffer.alloc(200_000))
    })
    const dripping = await setup(t, (_request, response) => {
      response.write('a')
    })
    const outbound = openOutbound({ allowCidrs: ['127.0.0.1/32'] })
    const stuck = openOutbound({ allowCidrs: [], resolve: () => new Promise(() => {}) })
    const short = (url: string) => ({ ...to(url), timeoutMs: 100 })

    const answers = await Promise.all([
      outbound.request(short(`http://127.0.0.1:${silent.port}/`)),
      outbound.request(short(`http://127.0.0.1:${dripping.port}/`)),
      outbound.request(to(`http://127.0.0.1:${endless.port}/`)),
      stuck.request(short('http://callback.example/')),
    ])

    assert.deepEqual(
      answers.map((answer) => (answer.ok ? 'ok' : answer.code)),
      ['timed_out', 'timed_out', 'answer_too_large', 'timed_out'],
    )
  })

  test('the caller may set the maximum size', async (t) => {
    const { port } = await setup(t, (_request, response) => response.end(Buffer.alloc(200_000)))
    const outbound = openOutbound({ allowCidrs: ['127.0.0.1/32'] })

    const whole = await outbound.request({ ...to(`http://127.0.0.1:${port}/`), bytesMax: 200_000 })
    const cut = await outbound.request({ ...to(`http://127.0.0.1:${port}/`), bytesMax: 199_999 })

    assert(whole.ok)
    assert.equal(whole.body.length, 200_000)
    assert.deepEqual(cut, { ok: false, code: 'answer_too_large' })
  })

  test('a client that dials by itself is given the checked address, or the refusal', async () => {
    const outbound = openOutbound({ allowCidrs: [], resolve: resolving(v4('93.184.216.34')) })
    const { signal } = new AbortController()

    const checked = await outbound.check('https://shop.example/a?b', { signal })
    const refused = await outbound.check('https://10.0.0.1/', { signal })

    assert(checked.ok)
    assert.deepEqual(checked.to, { ...v4('93.184.216.34'), port: 443 })
    assert.deepEqual(refused, { ok: false, code: 'forbidden_address' })
  })

  test('a caller’s own dial function gets the checked address, and never one that is refused', async (t) => {
    const { port } = await setup(t)
    const dialled: string[] = []
    const dial = async (to: Address & { port: number }) => {
      dialled.push(`${to.address}:${to.port}`)
      return net.connect(port, '127.0.0.1')
    }
    const outbound = openOutbound({ allowCidrs: [], resolve: resolving(v4('93.184.216.34')) })

    const answer = await outbound.request({ ...to('http://shop.example:8081/'), dial })
    const refused = await outbound.request({ ...to('http://192.168.0.1/'), dial })

    assert.equal(answer.ok && answer.body.toString(), 'ok')
    assert.equal(refused.ok, false)
    assert.deepEqual(dialled, ['93.184.216.34:8081'])
  })

  test('an invalid range stops the start', () => {
    assert.throws(() => openOutbound({ allowCidrs: ['10.0.0.0'] }), /OUTBOUND_ALLOW_CIDRS/)
  })
})
