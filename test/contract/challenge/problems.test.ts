// Section 4 of docs/challenge.md: what the Solver solves, seen from its callbacks.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { until } from '../../support/until.ts'
import { nowSec, postSigned, solveBody, startReceiver, startServer } from './setup.ts'

type Problems = Record<string, { problem?: unknown; output_spec?: object; constraints?: object }>

/** The answer of each, or its error code. */
async function solve(t: TestContext, problems: Problems, env: Record<string, string> = {}) {
  const receiver = await startReceiver(t)
  const { url } = await startServer(t, { env })
  for (const [id, more] of Object.entries(problems)) {
    const answer = await postSigned(url, '/solve', solveBody(id, `${receiver.url}/callback/${id}`, more))
    assert.equal(answer.status, 202)
  }
  await until('all callbacks came', () => receiver.received.length === Object.keys(problems).length)
  const bodies = receiver.received.map(({ body }) => JSON.parse(body))
  return Object.fromEntries(bodies.map((body) => [body.challenge_id, body.answer ?? body.error_code]))
}

const math = (expression: string) => ({ problem: { type: 'math', expression } })
const text = (operation: string | undefined, text: string, more: object = {}) => ({
  problem: { type: 'text', operation, text, ...more },
})

describe('challenge: problems', () => {
  test('challenge 3.4: timeout_ms and deadline_ts limit a problem, 0 and null do not', async (t) => {
    const slow = text('extract', 'ab'.repeat(200_000), { pattern: '([ab]{1,100}){10}[cd]' })

    const answers = await solve(t, {
      late: { constraints: { deadline_ts: nowSec() - 10 } },
      slow: { ...slow, constraints: { timeout_ms: 20 } },
      zero: { constraints: { timeout_ms: 0, deadline_ts: 0 } },
      none: { constraints: { timeout_ms: null, deadline_ts: null, other: 'x' } },
    })

    assert.deepEqual(answers, { late: 'DEADLINE_EXCEEDED', slow: 'TIMEOUT', zero: '395', none: '395' })
  })

  test('challenge 4.1: an answer of more than a million characters is too large', async (t) => {
    const answers = await solve(t, {
      most: text('repeat', 'a'.repeat(1000), { times: 1000 }),
      more: text('repeat', 'a'.repeat(1000), { times: 1001 }),
    })

    assert.equal(answers['most'].length, 1_000_000)
    assert.equal(answers['more'], 'TOO_LARGE')
  })

  test('challenge 4.2: an expression is exact where it can be, and given as output_spec asks', async (t) => {
    const answers = await solve(t, {
      whole: math('2^100'),
      decimal: math('0.1+0.2'),
      fraction: math('1/3'),
      root: math('sqrt(2)'),
      asFraction: { ...math('0.25'), output_spec: { format: 'fraction' } },
      asDecimal: { ...math('2/3'), output_spec: { format: 'decimal', digits: 4 } },
    })

    assert.deepEqual(answers, {
      whole: '1267650600228229401496703205376',
      decimal: '0.3',
      fraction: '1/3',
      root: '1.41421356237309504880168872420969807857',
      asFraction: '1/4',
      asDecimal: '0.6667',
    })
  })

  test('challenge 4.3: an operation on two numbers has two decimals', async (t) => {
    const operation = (operation: string, a: number, b: number) => ({ problem: { type: 'math', operation, a, b } })

    const answers = await solve(t, {
      add: operation('add', 1.005, 0),
      subtract: operation('subtract', 1, 2.5),
      multiply: operation('multiply', 3, 4),
      divide: operation('divide', 1, 3),
    })

    assert.deepEqual(answers, { add: '1.01', subtract: '-1.50', multiply: '12.00', divide: '0.33' })
  })

  test('challenge 4.4: text has named operations, and without one the answer is upper case', async (t) => {
    const answers = await solve(t, {
      reverse: text('reverse', 'añ😀'),
      none: text(undefined, 'abc'),
      extract: text('extract', 'order 66', { pattern: '(\\d+)', group: 1 }),
      unknown: text('rot13', 'abc'),
    })

    assert.deepEqual(answers, { reverse: '😀ña', none: 'ABC', extract: '66', unknown: 'INVALID_PROBLEM' })
  })

  test('challenge 4.5: captcha and code fail with SOLVER_UNAVAILABLE where their door is not open', async (t) => {
    const answers = await solve(t, {
      captcha: { problem: { type: 'captcha', data: 'aGk=', description: 'What is it?' } },
      code: { problem: { type: 'code', problem_id: 'p', language: 'c', code: '' } },
    })

    assert.deepEqual(answers, { captcha: 'SOLVER_UNAVAILABLE', code: 'SOLVER_UNAVAILABLE' })
  })

  test('challenge 4.7: plug-ins solve further types', async (t) => {
    const caesar = { problem: { type: 'caesar', text: 'Khoor', shift: -3 } }

    const answers = await solve(t, { caesar, math: math('1+1') }, { SOLVER_PLUGINS: 'examples/solvers.js' })

    assert.deepEqual(answers, { caesar: 'Hello', math: '2' })
  })
})
