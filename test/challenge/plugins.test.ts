import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { openPlugins } from '../../src/doors/challenge/problems/plugins.ts'
import { postSigned, solveBody, startReceiver, startServer } from '../contract/challenge/setup.ts'
import { atEnd } from '../support/cleanup.ts'
import { temporaryFolder } from '../support/servers.ts'
import { until } from '../support/until.ts'

const MODULE = `
export const solvers = {
  echo: (problem, { challengeId, outputSpec }) => JSON.stringify([problem.text, challengeId, outputSpec]),
  refuse: () => { throw Object.assign(new Error('no such word'), { name: 'Unsolvable', code: 'NO_SUCH_WORD' }) },
  oddCode: () => { throw Object.assign(new Error('x'), { name: 'Unsolvable', code: 'not a code' }) },
  fail: () => { throw new Error('out of luck') },
  number: () => 5,
  nul: () => 'a\\0b\\ud800',
  polite: (_, { signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  deaf: () => new Promise(() => {}),
  endless: () => { for (;;); },
  fatal: () => { setTimeout(() => { throw new Error('nobody catches this') }); return new Promise(() => {}) },
}`

async function moduleFile(t: TestContext, text: string): Promise<string> {
  const folder = await temporaryFolder()
  atEnd(t, () => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'solvers.mjs')
  await writeFile(file, text)
  return file
}

async function setup(t: TestContext) {
  const plugins = await openPlugins([await moduleFile(t, MODULE)])
  atEnd(t, () => plugins.close())
  const { signal } = new AbortController()
  const solve = (type: string, timeoutMs = 60_000) =>
    plugins.solve(
      { type, problem: { type, text: 'hi' }, challengeId: 'c1', outputSpec: { a: 1 } },
      { timeoutMs, signal },
    )
  const codeOf = async (type: string, timeoutMs?: number) => {
    const solution = await solve(type, timeoutMs)
    return solution.status === 'failed' ? solution.error_code : solution.answer
  }
  return { plugins, solve, codeOf }
}

describe('a plug-in', () => {
  test('gets the problem and its context, and returns the answer', async (t) => {
    const { plugins, solve } = await setup(t)

    assert(plugins.types.includes('echo'))
    const outcome = await solve('echo')
    assert(outcome.status === 'success')
    assert.equal(outcome.answer, '["hi","c1",{"a":1}]')
    assert.equal(outcome.metadata['solver'], 'echo')
    assert(Number.isInteger(outcome.metadata['compute_time_ms']))
  })

  test('reports with Unsolvable that there is no answer; any other error is retried', async (t) => {
    const { solve, codeOf } = await setup(t)

    assert.deepEqual(await solve('refuse'), {
      status: 'failed',
      error_code: 'NO_SUCH_WORD',
      error_message: 'no such word',
    })
    assert.equal(await codeOf('oddCode'), 'SOLVER_FAILED')
    assert.equal(await codeOf('number'), 'SOLVER_FAILED')
    assert.equal(await codeOf('nul'), 'a\u{fffd}b\u{fffd}')
    await assert.rejects(() => solve('fail'), /The plug-in for fail failed: out of luck/)
  })

  test('that exceeds its time fails with TIMEOUT, whether it stops, goes on, or blocks its thread', async (t) => {
    const { codeOf } = await setup(t)

    for (const type of ['polite', 'deaf', 'endless']) assert.equal(await codeOf(type, 50), 'TIMEOUT', type)
    assert.match(await codeOf('echo'), /hi/)
  })

  test('that ends its thread fails the problems that ran there, which are retried, and none after them', async (t) => {
    const { solve, codeOf } = await setup(t)

    await assert.rejects(() => solve('fatal'), /The thread of the plug-ins ended/)
    assert.match(await codeOf('echo'), /hi/)
  })

  test('that cannot be loaded stops the start', async (t) => {
    const open = async (text: string) => openPlugins([await moduleFile(t, text)])

    await assert.rejects(() => openPlugins(['/nowhere/solvers.js']), /^StartError: SOLVER_PLUGINS: Cannot find module/)
    await assert.rejects(() => open('export const other = 1'), /does not export solvers/)
    await assert.rejects(() => open('export const solvers = { a: 1 }'), /a is not a function/)
    await assert.rejects(() => open('process.exit(1)'), /ended its thread/)
  })
})

describe('challenge: problems of other types', () => {
  test('are solved by the plug-ins of SOLVER_PLUGINS, within their constraints', async (t) => {
    const receiver = await startReceiver(t)
    const { url } = await startServer(t, { env: { SOLVER_PLUGINS: 'examples/solvers.js' } })
    const asked = {
      caesar: { problem: { type: 'caesar', text: 'Khoor, Zruog', shift: -3 } },
      prime: { problem: { type: 'nth_prime', n: 1000 } },
      wrong: { problem: { type: 'caesar' } },
      slow: { problem: { type: 'nth_prime', n: 1e9 }, constraints: { timeout_ms: 50 } },
      odd: { problem: { type: 'riddle' } },
    }

    for (const [id, more] of Object.entries(asked)) {
      assert.equal((await postSigned(url, '/solve', solveBody(id, `${receiver.url}/callback/${id}`, more))).status, 202)
    }
    await until('all callbacks came', () => receiver.received.length === 5)

    const bodies = receiver.received.map(({ body }) => JSON.parse(body))
    assert.deepEqual(Object.fromEntries(bodies.map((body) => [body.challenge_id, body.answer ?? body.error_code])), {
      caesar: 'Hello, World',
      prime: '7919',
      wrong: 'INVALID_PROBLEM',
      slow: 'TIMEOUT',
      odd: 'UNSUPPORTED_PROBLEM',
    })
  })
})
