// `reeve play`, as a process.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { ArenaClient } from '@reeve/sdk/arena'
import { Client } from 'pg'
import { WebSocket } from 'ws'
import { ask, startServer } from '../contract/arena/setup.ts'
import { atEnd } from '../support/cleanup.ts'
import { REEVE, ROOT } from '../support/program.ts'

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

test(
  'reeve play: a person in a terminal presses a key, and wins',
  { skip: !hasScript && 'no script(1) here' },
  async (t) => {
    const { url } = await startServer(t, { env: { SESSION_TICK_INTERVAL_MS: '50', SESSION_TICKS: '40' } })
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

test('reeve play: without a terminal or a server it says so in one line', async (t) => {
  const [noTerminal, noServer, noMode] = await Promise.all([
    reeve(t, 'play', '--url', 'http://127.0.0.1:1'),
    reeve(t, 'play', '--bot', '1', '--url', 'http://127.0.0.1:1'),
    reeve(t, 'play', '--mode', 'ranked'),
  ])

  assert.deepEqual(
    [noTerminal.code, noTerminal.err],
    [2, 'reeve play needs a terminal. For bots: reeve play --bot 2\n'],
  )
  assert.deepEqual([noServer.code, noServer.err], [1, 'No answer from http://127.0.0.1:1: is the server running?\n'])
  assert.equal(noMode.code, 2)
})
