// `reeve challenge`, against a running server.
import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { account, post, startReceiver, startServer, urlOf } from '../contract/challenge/setup.ts'
import { atEnd } from '../support/cleanup.ts'
import { temporaryFolder } from '../support/servers.ts'
import { until } from '../support/until.ts'
import { reeve } from './reeve-command.ts'

const CHALLENGE = {
  challenge_id: 'c1',
  problem: { type: 'math', expression: '17*23+4' },
  validation_rule: { type: 'ExactMatch' },
  answer: '395',
}

describe('reeve challenge', () => {
  test('creates, sends, shows, lists and replays for the account of --as', async (t) => {
    const solver = await startReceiver(t, [400, 202])
    const { url, at } = await startServer(t, {
      env: { SOLVER_URL: solver.url, PUBLIC_CALLBACK_HOST: 'http://127.0.0.1:1' },
    })
    await account(url, 'ann')
    const folder = await temporaryFolder()
    atEnd(t, () => rm(folder, { recursive: true, force: true }))
    const file = join(folder, 'c2.json')
    await writeFile(file, JSON.stringify({ ...CHALLENGE, challenge_id: 'c2' }))
    const env = { DATABASE_URL: urlOf(at), REEVE_DATA_DIR: folder }
    const run = (args: readonly string[], stdin = '', as = 'ann') =>
      reeve(['challenge', ...args, '--url', url, '--as', as], { env, stdin })

    const [created, fromFile] = [
      await run(['create', '-'], JSON.stringify(CHALLENGE)),
      await run(['create', file, '--json']),
    ]
    const sent = await run(['send', 'c1'])
    await until('the Solver was asked', () => solver.received.length === 1)
    const [shown, listed] = await Promise.all([run(['show', 'c1']), run(['list'])])
    const strangers = await Promise.all([
      run(['show', 'c1'], '', 'admin'),
      run(['show', 'c1'], '', 'nobody'),
      run(['create', '-'], 'not JSON'),
      run(['replay']),
    ])
    await until(
      'the dead letter was replayed',
      async () => (await run(['replay'], '', 'admin')).stdout === '1 replayed.\n',
    )
    await until('the Solver was asked again', () => solver.received.length === 2)

    assert.deepEqual([created.code, created.stdout, created.stderr], [0, 'c1\n', ''])
    assert.equal(JSON.parse(fromFile.stdout).challenge_id, 'c2')
    assert.match(sent.stdout, /^Sending\. See: reeve challenge show c1 --as ann/)
    assert.deepEqual([JSON.parse(shown.stdout).challenge_id, JSON.parse(shown.stdout).answer], ['c1', '395'])
    assert.match(listed.stdout, /^CHALLENGE +STATE +CREATED +SOLVER JOB\nc2 +created .*\nc1 +/)
    assert.deepEqual(
      strangers.map(({ code, stderr }) => [code, stderr.trim()]),
      [
        [1, '404: There is no such challenge.'],
        [1, 'There is no account nobody: use --as.'],
        [2, 'Standard input is not JSON.'],
        [1, '403: Insufficient role'],
      ],
    )
  })

  test('reeve delivery lists a dead letter, shows its attempts with their cause, and sends it again', async (t) => {
    const refusing = await startReceiver(t, [
      (_request, response) => response.writeHead(401).end('{"error":{"code":"INVALID_SIGNATURE"}}'),
      202,
    ])
    const { url, at } = await startServer(t, {
      env: { SOLVER_URL: refusing.url, PUBLIC_CALLBACK_HOST: 'http://127.0.0.1:1' },
    })
    const owner = await account(url, 'ann')
    const dataDir = await temporaryFolder(t)
    const env = { DATABASE_URL: urlOf(at), REEVE_DATA_DIR: dataDir }
    const run = (args: readonly string[], as = 'admin') =>
      reeve(['delivery', ...args, '--url', url, '--as', as], { env })
    await post(`${url}/challenges`, JSON.stringify(CHALLENGE), owner)
    await post(`${url}/challenges/c1/send`, '{}', owner)
    await until('it is a dead letter', async () => JSON.parse((await run(['list', '--json'])).stdout).length === 1)

    const listed = await run(['list'])
    const id = /^(\d+) /m.exec(listed.stdout)?.[1] ?? ''
    const shown = JSON.parse((await run(['show', id])).stdout)
    const others = [await run(['list'], 'ann'), await run(['list', '--status', 'lost'])]
    const replayed = await run(['replay', id])
    await until('it is delivered', async () => (await run(['list', '--status', 'delivered'])).stdout.includes(' c1 '))

    assert.match(
      listed.stdout,
      /^DELIVERY +TOPIC +SUBJECT +STATUS +ATTEMPTS +ERROR +CREATED\n\d+ +challenge_send +c1 +dead/,
    )
    assert.match(listed.stdout, /HTTP 401 \(INVALID_SIGNATURE\)/)
    assert.deepEqual([shown.log[0].status_code, shown.log[0].peer_code], [401, 'INVALID_SIGNATURE'])
    assert.deepEqual(
      others.map(({ code }) => code),
      [1, 2],
    )
    assert.equal(replayed.stdout, '1 replayed.\n')
    assert.equal((await run(['list'])).stderr, 'No deliveries.\n')
  })

  test('reports when no server answers', async (t) => {
    const { at, stop } = await startServer(t)
    await stop()
    const folder = await temporaryFolder()
    atEnd(t, () => rm(folder, { recursive: true, force: true }))
    const env = { DATABASE_URL: urlOf(at), REEVE_DATA_DIR: folder }

    const { code, stderr } = await reeve(['challenge', 'list', '--as', 'admin', '--url', 'http://127.0.0.1:1'], { env })

    assert.deepEqual([code, stderr], [1, 'No answer from http://127.0.0.1:1: is the server running?\n'])
  })
})
