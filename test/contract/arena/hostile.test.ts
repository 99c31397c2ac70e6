// Clients that mean harm, or are broken: they get an answer or are cut off, and nobody else notices.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { until } from '../../support/until.ts'
import { rawClient } from './raw-client.ts'
import { ask, connect, join, matched, player, startServer, type Line, type Player } from './setup.ts'

const metricsOf = async (url: string) => (await fetch(`${url}/metrics`, { headers: { accept: 'text/plain' } })).text()

const FLOOD_MB = 64
const TICKS = 200

const statesOf = (line: Line) => line.messages.filter(({ event }) => event === 'session.state')
const ticksOf = (line: Line) => statesOf(line).map(({ p }) => Number(p.tick))

// At once: what they wait for is pings and ticks, in real time.
describe('arena: backpressure', { concurrency: 4 }, () => {
  test('arena 9.1: a connection over its queue limit is closed with 1008 backpressure_exceeded', async (t) => {
    const { url } = await startServer(t)
    const ann = await player(url, 'ann')

    const closed = await floodedBy(t, url, ann)

    assert.deepEqual(closed, { code: 1008, reason: 'backpressure_exceeded' })
  })

  test('arena 9.2: a player who stops reading is closed while the kernel still buffers, and the match goes on for the other', async (t) => {
    const { url } = await startServer(t, { env: { SESSION_TICKS: String(TICKS) } })
    const ann = await player(url, 'ann')
    const bob = await player(url, 'bob')
    const pauses = startPauseMeter(t)
    const began = performance.now()
    const stalled = await rawClient(t, url, ann.token)
    const bobLine = await connect(t, url, bob)
    await join(url, ann)
    await join(url, bob)
    const { sessionId } = (await bobLine.event('session.created')).p

    stalled.socket.pause() // a few hundred bytes a tick: the kernel has room for minutes of them
    let said = 0 // it answers pings that it has not read
    const lying = setInterval(() => {
      for (const guess of ['', String((said += 1))]) stalled.socket.write(stalled.frame(10, guess))
    }, 100)
    t.after(() => clearInterval(lying))
    await until('the stalled player is cut off', async () =>
      (await metricsOf(url)).includes('closed_total{reason="ping"} 1'),
    )
    const ms = performance.now() - began
    await until('some ticks are played', () => ticksOf(bobLine).length > 20)
    const ticksThen = ticksOf(bobLine).length
    // It reads again after a while, and learns why it was closed.
    await until('three more seconds are played', () => ticksOf(bobLine).length >= ticksThen + 30)
    stalled.socket.resume()
    const closed = await stalled.closed
    const ended = await bobLine.event('session.ended')

    assert.deepEqual(closed, { code: 1008, reason: 'backpressure_exceeded' })
    // The first ping is sent a second after the connection, and has five seconds.
    assert(ms >= 5900, `only ${ms} ms: it may have been closed for something else`)
    assert.deepEqual(
      ticksOf(bobLine),
      Array.from({ length: TICKS }, (_, index) => index + 1),
    )
    assert(ticksThen > 20 && ticksThen < TICKS)
    const [first, last] = [0, -1].map((index) => Date.parse(statesOf(bobLine).at(index)?.p.issuedAt))
    // A match does not make up for a pause of the whole process.
    assert(
      Number(last) - Number(first) < (TICKS - 1) * 100 + 3000 + pauses.ms(),
      'a tick waited for the one who did not read',
    )
    assert.equal(ended.p.sessionId, sessionId)
    assert.equal(ended.p.reason, 'completed')
  })

  test('arena 9.3: a flood of pings whose answers are not read is throttled, and the server buffers none', async (t) => {
    const { url } = await startServer(t)
    const eve = await rawClient(t, url, (await player(url, 'eve')).token)
    const pings = Buffer.concat(Array.from({ length: 8000 }, () => eve.frame(9, 'x'.repeat(125))))

    eve.socket.pause()
    for (let n = 0; n < FLOOD_MB; n += 1) eve.socket.write(pings)
    let taken = 0
    const looking = setInterval(() => (taken = FLOOD_MB * pings.length - eve.socket.writableLength), 20)
    t.after(() => clearInterval(looking))
    await until('it is cut off', async () => (await metricsOf(url)).includes('closed_total{reason="ping"} 1'))

    // What the kernel holds on both sides is in it.
    assert(taken < (FLOOD_MB / 2) * pings.length, `${taken} bytes were read`)
  })

  test('arena 9.3: a client that reads but sends too fast is slowed, not closed', async (t) => {
    const { url } = await startServer(t)
    const line = await connect(t, url, await player(url, 'eve'))
    let pings = 0
    line.socket.on('ping', () => (pings += 1))

    for (let n = 1; n <= 5000; n += 1) line.send('echo', { message: 'flood' }, n)
    const flood = setInterval(() => {
      for (let n = 0; n < 50; n += 1) line.send('echo', { message: 'flood' })
    }, 50)
    t.after(() => clearInterval(flood))
    const dropped = await line.error()
    await until('it has answered three pings', () => pings > 3)
    clearInterval(flood)
    let asked = 10_000
    await until('it is heard again', () => {
      line.send('echo', { message: 'calm' }, (asked += 1))
      return line.messages.some(({ p }) => p.message === 'calm')
    })

    assert.equal(dropped.p.code, 'rate_limited')
    const echoes = line.messages.filter(({ event }) => event === 'echo').map(({ seq }) => seq)
    assert.deepEqual(
      echoes.slice(0, 1400),
      Array.from({ length: 1400 }, (_, index) => index + 1),
    )
    assert.equal(line.socket.readyState, line.socket.OPEN)
    assert.doesNotMatch(await metricsOf(url), /arena_sockets_closed_total\{/)
  })

  test('arena 9.4: a client that answers its pings is not closed, and the ping carries the tick', async (t) => {
    const { url } = await startServer(t, { env: { SESSION_TICKS: '70' } })
    const { annLine, bobLine } = await matched(t, url)
    const pings: string[] = []
    annLine.socket.on('ping', (data) => pings.push(String(data)))

    await annLine.event('session.ended')
    await bobLine.event('session.ended')

    assert(pings.length >= 1)
    assert(
      pings.some((ping) => Number.parseInt(ping, 10) > 0 && Number.parseInt(ping, 10) <= 70),
      JSON.stringify(pings),
    )
  })
})

describe('arena: hostile clients', { concurrency: 3 }, () => {
  test('arena 9.5: a flood of inputs counts eight per tick, is throttled, and does not slow the other player', async (t) => {
    const { url } = await startServer(t, { env: { SESSION_TICK_INTERVAL_MS: '200' } })
    const { ann, annLine, bobLine, sessionId } = await matched(t, url)

    // For the last tick that is taken: after a pause a match catches up on a second of ticks at once.
    for (let n = 1; n <= 1000; n += 1)
      annLine.send('session.input', { sessionId, sequence: n, targetTick: 10, delta: 3 }, n)
    const last = await annLine.next(({ t, seq }) => t === 'error' && seq === 1000)
    const ended = await bobLine.event('session.ended')

    assert.equal(last.p.code, 'input_invalid')
    assert.deepEqual(
      ticksOf(bobLine),
      Array.from({ length: 50 }, (_, index) => index + 1),
    )
    const match = await ask(url, `/api/matches/${sessionId}`, { token: ann.token })
    assert.equal(match.body.data.players[0].position, 24)
    assert.equal(ended.p.result.winnerUserId, ann.userId)
    annLine.send('echo', { message: 'still here' })
    await annLine.event('echo')
  })

  test('arena 9.6: binary messages are refused; oversized ones, broken UTF-8 and malformed frames end the connection', async (t) => {
    const { url } = await startServer(t)
    const { annLine, bobLine } = await matched(t, url)
    const eve = await player(url, 'eve')
    const line = await connect(t, url, eve)
    const broken = async (bytes: (frame: (opcode: number, payload: Buffer | string) => Buffer) => Buffer) => {
      const client = await rawClient(t, url, eve.token)
      client.socket.write(bytes(client.frame))
      return (await client.closed).code
    }

    line.socket.send(Buffer.from('{"t":"event","seq":1,"event":"echo","p":{"message":"x"}}'))
    const binary = await line.error()
    line.socket.send('x'.repeat(65 * 1024))

    assert.equal(binary.p.code, 'bad_request')
    assert.equal((await line.closed).code, 1009)
    assert.equal(await broken((frame) => frame(1, Buffer.from([0xff, 0xfe, 0xfd]))), 1007)
    assert.equal(await broken((frame) => frame(3, 'reserved')), 1002)
    assert.equal(await broken(() => Buffer.from([0xc1, 0x80, 0, 0, 0, 0])), 1002) // compressed, which nobody agreed to
    assert.equal(await broken(() => Buffer.from([0x81, 0x05, 1, 2, 3, 4, 5])), 1002) // not masked
    assert.equal(await broken((frame) => frame(9, 'x'.repeat(126))), 1002) // a control frame that is too long
    await annLine.event('session.ended')
    assert.deepEqual(ticksOf(bobLine).length, 50)
  })

  test('arena 9.6: deeply nested and unusual JSON is answered, and the server goes on', async (t) => {
    const { url } = await startServer(t)
    const line = await connect(t, url, await player(url, 'eve'))
    const texts = [
      '['.repeat(30_000),
      `${'['.repeat(10_000)}${']'.repeat(10_000)}`,
      `{"t":"event","seq":1e999,"event":"echo","p":{"message":"x"}}`,
      `{"t":"event","seq":1,"event":"session.input","p":{"sessionId":"${'a'.repeat(60_000)}"}}`,
      `{"t":"event","seq":1,"event":"constructor","p":{"__proto__":{"x":1}}}`,
      `{"t":"event","seq":1,"event":"session.watch","p":{"sessionId":"'; drop table players; --"}}`,
      `{"t":"event","seq":1,"event":"resync_request","p":{"resumeToken":"\\u0000"}}`,
    ]

    for (const text of texts) {
      line.socket.send(text)
      await line.next(({ t, event }) => t === 'error' || event === 'echo')
    }
    line.send('echo', { message: '\u0000 \ud800' }, 5)

    assert.equal((await line.next(({ seq, event }) => event === 'echo' && seq === 5)).p.message.length, 3)
    assert.equal((await ask(url, '/api/health')).status, 200)
  })
})

/** How a connection ended whose client sends a lot and reads nothing until the server has had enough. */
async function floodedBy(t: TestContext, url: string, who: Player) {
  const closedBefore = await closedForQueue(url)
  const line = await connect(t, url, who)
  line.socket.pause()
  const text = 'x'.repeat(60_000)
  let sent = 0
  const flood = setInterval(() => {
    for (let n = 0; n < 5 && line.socket.readyState === line.socket.OPEN; n += 1) {
      line.send('echo', { message: text })
      sent += 1
    }
  }, 10)
  t.after(() => clearInterval(flood))
  await until('the server has closed it', async () => (await closedForQueue(url)) > closedBefore)
  clearInterval(flood)
  line.socket.resume()

  assert(sent > 8)
  return line.closed
}

const PAUSE_LOOK_MS = 50

/** How long this process, which is the server's too, stood still. */
function startPauseMeter(t: TestContext): { ms(): number } {
  let paused = 0
  let last = performance.now()
  const look = setInterval(() => {
    const late = performance.now() - last - PAUSE_LOOK_MS
    last = performance.now()
    if (late > 2 * PAUSE_LOOK_MS) paused += late
  }, PAUSE_LOOK_MS)
  t.after(() => clearInterval(look))
  return { ms: () => paused }
}

const closedForQueue = async (url: string) =>
  Number(/closed_total\{reason="queue"\} (\d+)/.exec(await metricsOf(url))?.[1] ?? 0)
