// `reeve play`, as a process.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { connect, createServer as createTcpServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ReeveClient, ReeveError } from '@reeve/sdk'
import { ArenaClient } from '@reeve/sdk/arena'
import { Client } from 'pg'
import { WebSocket } from 'ws'
import { endOf } from '../../src/cli/arena/match-end.ts'
import { ask, player, QUICK, startServer } from '../contract/arena/setup.ts'
import { atEnd } from '../support/cleanup.ts'
import { REEVE, ROOT } from '../support/program.ts'
import { temporaryFolder } from '../support/servers.ts'
import { until } from '../support/until.ts'

const hasScript = spawnSync('script', ['--version']).status === 0

function startReeve(t: TestContext, ...args: string[]) {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, [...REEVE, ...args], {
    cwd: ROOT,
    env: { PATH, HOME },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  t.after(() => child.kill('SIGKILL'))
  let out = ''
  let err = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const ended = once(child, 'close').then(([code]) => ({ code, out, err }))
  return { child, ended }
}

const reeve = (t: TestContext, ...args: string[]) => startReeve(t, ...args).ended

/** Connections to a server that can be cut. `intercept` sees what a client sends: true keeps it from the server. */
async function openProxy(t: TestContext, url: string, intercept: (socket: Socket, sent: string) => boolean) {
  const sockets = new Set<Socket>()
  const proxy = createTcpServer((socket) => {
    const upstream = connect(Number(new URL(url).port), '127.0.0.1')
    for (const one of [socket, upstream]) sockets.add(one.on('error', () => {}))
    upstream.pipe(socket)
    socket.on('data', (bytes) => {
      if (!intercept(socket, bytes.toString('latin1'))) upstream.write(bytes)
    })
    socket.on('close', () => upstream.destroy())
  }).listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  atEnd(t, () => proxy.close())
  const address = proxy.address()
  assert(typeof address === 'object' && address !== null)
  const cut = () => sockets.forEach((socket) => socket.destroy())
  return { url: `http://127.0.0.1:${address.port}`, cut }
}

test('reeve play --bot: bots register, play against each other, and say what came of it', async (t) => {
  const { url } = await startServer(t, { env: { SESSION_TICK_INTERVAL_MS: '20', SESSION_TICKS: '20' } })

  const { code, out, err } = await reeve(t, 'play', '--bot', '4', '--matches', '2', '--url', url, '--json')

  assert.equal(code, 0, err)
  const lines = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  assert.equal(lines.length, 8)
  assert(lines.every(({ reason, result }) => reason === 'completed' && result.ticks === 20))
  const { entries } = (await ask(url, '/api/leaderboard')).body.data
  const bots = entries.filter(({ username }: { username: string }) => username.startsWith('bot-'))
  assert.deepEqual(
    bots.map(({ matches }: { matches: number }) => matches),
    [2, 2, 2, 2],
  )
})

test('reeve play --bot: bots whose login has ended log in again, as the same players', async (t) => {
  const { url, at } = await startServer(t, { env: { SESSION_TICK_INTERVAL_MS: '20', SESSION_TICKS: '20' } })
  const client = new Client(at)
  await client.connect()
  atEnd(t, () => client.end())

  const { child, ended } = startReeve(t, 'play', '--bot', '2', '--matches', '3', '--url', url, '--json')
  await once(child.stdout, 'data') // a match is over; the next one may have begun
  await client.query('delete from tokens')
  const { code, err } = await ended

  assert.equal(code, 0, err)
  assert.equal((await client.query('select from tokens')).rowCount, 2)
  const { entries } = (await ask(url, '/api/leaderboard')).body.data
  const bots = entries.filter(({ username }: { username: string }) => username.startsWith('bot-'))
  assert.deepEqual(
    bots.map(({ matches }: { matches: number }) => matches),
    [3, 3],
  )
})

test('reeve play --bot: a match during which the login and the connection end is counted, although the server is away', async (t) => {
  const { url, at } = await startServer(t, { env: { SESSION_TICK_INTERVAL_MS: '50', SESSION_TICKS: '40' } })
  const client = new Client(at)
  await client.connect()
  atEnd(t, () => client.end())
  // The first who asks for the end of the match finds the server stopped, the second one finds it starting.
  let looks = 0
  const proxy = await openProxy(t, url, (socket, sent) => {
    if (!sent.startsWith('GET /api/matches/')) return false
    looks += 1
    if (looks === 1) socket.destroy()
    if (looks === 2) socket.write('HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\n\r\n')
    return looks <= 2
  })

  const { ended } = startReeve(t, 'play', '--bot', '2', '--matches', '1', '--url', proxy.url, '--json')
  await until('a match is on', async () => (await client.query('select from live_matches')).rowCount === 1)
  await client.query('delete from tokens')
  proxy.cut()
  const { code, out, err } = await ended

  assert.equal(code, 0, err)
  assert(looks > 2)
  const reasons = out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line).reason)
  assert.deepEqual(reasons, ['completed', 'completed'])
  assert.equal((await client.query('select from match_results')).rowCount, 1)
})

test('the end of a match is looked for no longer than the match can last and a while more', async () => {
  const answers = [new TypeError('fetch failed'), new ReeveError(503, {}, null), new ReeveError(404, {}, null)]
  let looks = 0
  let waitedMs = 0
  const match = async () => {
    looks += 1
    throw answers[looks % answers.length]
  }
  const pause = async (ms: number) => void (waitedMs += ms)
  const refusal = new ReeveError(403, {}, null)

  assert.equal(await endOf({ match }, { sessionId: 's', ticks: 50, tickIntervalMs: 100 }, pause), null)
  assert(waitedMs > 5000 && waitedMs < 3_600_000)
  const refused = endOf({ match: () => Promise.reject(refusal) }, { sessionId: 's', ticks: null, tickIntervalMs: 100 })
  await assert.rejects(refused, refusal)
})

test(
  'reeve play: a person in a terminal presses a key, and wins',
  { skip: !hasScript && 'no script(1) here' },
  async (t) => {
    // After a pause a match catches up on a second: the rest is long enough for a key.
    const { url } = await startServer(t, { env: { SESSION_TICK_INTERVAL_MS: '100', SESSION_TICKS: '40' } })
    const command = `${process.execPath} ${REEVE.join(' ')} play --url ${url}`
    const child = spawn('script', ['-qfec', command, '/dev/null'], { cwd: ROOT, stdio: ['pipe', 'pipe', 'inherit'] })
    t.after(() => child.kill('SIGKILL'))
    let shown = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      shown += text
      if (text.includes('tick')) child.stdin.write('d')
    })
    const bob = await ArenaClient.login({ url, username: 'bob', password: 'p password', register: true, WebSocket })
    t.after(() => bob.close())

    const session = await bob.play({ timeoutSeconds: 60 })
    await session.ended
    await once(child, 'close')

    assert.match(shown, /Looking for an opponent/)
    assert.match(shown, /bob +·+o·+ 0/)
    assert.match(shown, /You won\. Your rating: 1662\./)
  },
)

test('reeve play --api-key-file: the account of the key plays; a key that is not valid is one line', async (t) => {
  const { url } = await startServer(t, { env: QUICK })
  const { token, userId } = await player(url, 'ann')
  const { api_key: key } = await new ReeveClient({ url, token }).account.createApiKey({ name: 'play' })
  const folder = await temporaryFolder(t)
  const [good, bad] = [join(folder, 'good'), join(folder, 'bad')]
  await writeFile(good, `${key}\n`)
  await writeFile(bad, 'no key\n')
  const options = ['play', '--bot', '1', '--matches', '1', '--mode', 'bot', '--url', url, '--json', '--api-key-file']

  const [played, refused, both] = await Promise.all([
    reeve(t, ...options, good),
    reeve(t, ...options, bad),
    reeve(t, ...options, good, '--as', 'ann'),
  ])

  assert.equal(played.code, 0, played.err)
  assert.equal(JSON.parse(played.out).reason, 'completed')
  const { matches } = (await ask(url, `/api/matches?userId=${userId}`, { token })).body.data
  assert.equal(matches.length, 1)
  assert.equal(refused.code, 1)
  assert.match(refused.err, /^401: .+\n$/)
  assert.deepEqual([both.code, both.err], [2, '--as and --api-key-file exclude each other.\n'])
})

test('reeve play: without a terminal or a server it says so in one line', async (t) => {
  const [noTerminal, noServer, noMode, oneAccount] = await Promise.all([
    reeve(t, 'play', '--url', 'http://127.0.0.1:1'),
    reeve(t, 'play', '--bot', '1', '--url', 'http://127.0.0.1:1'),
    reeve(t, 'play', '--mode', 'ranked'),
    reeve(t, 'play', '--bot', '2', '--as', 'ann'),
  ])

  assert.deepEqual(
    [noTerminal.code, noTerminal.err],
    [2, 'reeve play needs a terminal. For bots: reeve play --bot 2\n'],
  )
  assert.deepEqual([noServer.code, noServer.err], [1, 'No answer from http://127.0.0.1:1: is the server running?\n'])
  assert.equal(noMode.code, 2)
  assert.deepEqual(
    [oneAccount.code, oneAccount.err],
    [2, 'An account plays one match at a time: --bot takes 1 with --as or --api-key-file.\n'],
  )
})

test('reeve play: a server that lets no WebSocket in is one line', async (t) => {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('{"data": {"token": "t"}}')
  })
  server.on('upgrade', (_request, socket) => socket.destroy())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(t, () => server.close())
  const address = server.address()
  assert(typeof address === 'object' && address !== null)

  const { code, err } = await reeve(t, 'play', '--bot', '1', '--url', `http://127.0.0.1:${address.port}`)

  assert.deepEqual([code, err], [1, 'The server cannot be reached (1006).\n'])
})
