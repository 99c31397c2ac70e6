import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { openThreads, type Bound } from '../../src/doors/challenge/bounded/threads.ts'
import type { Task } from '../../src/doors/challenge/bounded/task.ts'
import { atEnd } from '../support/cleanup.ts'

function setup(t: TestContext, spentMs?: () => number) {
  const threads = openThreads(spentMs)
  atEnd(t, () => threads.close())
  const run = async (task: Task, bound: Bound = { cpuMs: 5000 }) => {
    const answer = await threads.run(task, bound)
    return answer.ok ? answer.value : answer.code
  }
  const math = (expression: string, format: 'auto' | 'fraction' | 'decimal' = 'auto', digits = 10, cpuMs = 5000) =>
    run({ task: 'math', expression, format: { format, digits } }, { cpuMs })
  const text = (operation: string, text: string, more: object = {}) =>
    run({ task: 'text', problem: { type: 'text', operation, text, ...more } })
  return { run, math, text }
}

describe('the math solver', () => {
  test('integers and fractions are exact', async (t) => {
    const { math } = setup(t)
    const expected = {
      '17*23+4': '395',
      '-2^2': '-4',
      '2^3^2': '512',
      '2^-2': '0.25',
      '0.1+0.2': '0.3',
      '1/3+1/6': '0.5',
      '1/3': '1/3',
      '-7/3': '-7/3',
      '2^100': '1267650600228229401496703205376',
      '123456789012345678901234567890*10+1': '1234567890123456789012345678901',
      '20!': '2432902008176640000',
      'gcd(12, 18) + lcm(4, 6)': '18',
      'sqrt(16)': '4',
      'sqrt(1/4)': '0.5',
      '(1+2)*(3+4)': '21',
      '-7 % 3': '2',
      'max(1, 1/2, 3) - min(2, 5)': '1',
      'floor(-1.5) + ceil(1.2) + round(2.5)': '3',
      '1.5e3': '1500',
    }

    for (const [expression, answer] of Object.entries(expected)) {
      assert.equal(await math(expression), answer, expression)
    }
  })

  test('irrational values have forty digits', async (t) => {
    const { math } = setup(t)

    assert.equal(await math('sqrt(2)'), '1.41421356237309504880168872420969807857')
    assert.equal(await math('pi'), '3.141592653589793238462643383279502884197')
    assert.equal(await math('sqrt(2)', 'decimal', 5), '1.4142')
  })

  test('the answer has the requested format', async (t) => {
    const { math } = setup(t)

    assert.equal(await math('1/4', 'fraction'), '1/4')
    assert.equal(await math('2/3', 'decimal', 4), '0.6667')
    assert.equal(await math('-1/3', 'decimal', 2), '-0.33')
    assert.equal(await math('7', 'decimal', 2), '7.00')
  })

  test('an expression that is not arithmetic is refused with a code, and never evaluated', async (t) => {
    const { math } = setup(t)
    const expected = {
      '1/0': 'DIVISION_BY_ZERO',
      '5 % 0': 'DIVISION_BY_ZERO',
      '0^-1': 'DIVISION_BY_ZERO',
      'ln(-1)': 'NOT_A_NUMBER',
      'sqrt(-1)': 'NOT_A_NUMBER',
      '(1/2)!': 'NOT_A_NUMBER',
      '2 +': 'INVALID_PROBLEM',
      '': 'INVALID_PROBLEM',
      x: 'INVALID_PROBLEM',
      'process.exit(1)': 'INVALID_PROBLEM',
      'import("fs")': 'INVALID_PROBLEM',
      'constructor(1)': 'INVALID_PROBLEM',
      'f(x) = x': 'INVALID_PROBLEM',
      '[1,2]': 'INVALID_PROBLEM',
      '"a"': 'INVALID_PROBLEM',
      '1;2': 'INVALID_PROBLEM',
    }

    for (const [expression, code] of Object.entries(expected)) assert.equal(await math(expression), code, expression)
  })

  test('a number or an expression that is too large is refused before it is computed', async (t) => {
    const { math } = setup(t)
    const hostile = ['9^9^9', '2^(10^9)', '99999!', '((10^9999)^9999)^9999', '1e99999*1e99999', '3000!!']
    const nested = [`${'('.repeat(999)}1${')'.repeat(999)}`, '1+'.repeat(999) + '1', '-'.repeat(1999) + '1']

    for (const expression of hostile) assert.equal(await math(expression), 'TOO_LARGE', expression)
    for (const expression of nested) {
      assert.match(String(await math(expression, 'auto', 10, 500)), /^(TIMEOUT|TOO_LARGE|-?\d+)$/)
    }
  })
})

describe('the text solver', () => {
  test('each operation gives its result', async (t) => {
    const { text } = setup(t)

    assert.equal(await text('reverse', 'añ🙂b'), 'b🙂ña')
    assert.equal(await text('upper', 'straße'), 'STRASSE')
    assert.equal(await text('lower', 'ABC'), 'abc')
    assert.equal(await text('title', 'the old MAN'), 'The Old Man')
    assert.equal(await text('length', 'a🙂'), '2')
    assert.equal(await text('word_count', ' one  two\nthree '), '3')
    assert.equal(await text('count', 'banana', { search: 'an' }), '2')
    assert.equal(await text('replace', 'a.b.c', { search: '.', replacement: '$&' }), 'a$&b$&c')
    assert.equal(await text('extract', 'id=42;', { pattern: 'id=(\\d+)', group: 1 }), '42')
    assert.equal(await text('substring', 'héllo', { start: 1, end: 3 }), 'él')
    assert.equal(await text('sort_lines', 'b\na'), 'a\nb')
    assert.equal(await text('base64_encode', 'hi'), 'aGk=')
    assert.equal(await text('sha256', ''), 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855')
  })

  test('an operation that cannot be done is refused with a code', async (t) => {
    const { text, run } = setup(t)

    assert.equal(await text('constructor', 'a'), 'INVALID_PROBLEM')
    assert.equal(await text('count', 'a'), 'INVALID_PROBLEM')
    assert.equal(await text('count', 'a', { search: '' }), 'INVALID_PROBLEM')
    assert.equal(await text('extract', 'a', { pattern: '(' }), 'INVALID_PROBLEM')
    assert.equal(await text('extract', 'a', { pattern: 'b' }), 'NO_MATCH')
    assert.equal(await text('extract', 'a', { pattern: 'a', group: 1 }), 'INVALID_PROBLEM')
    assert.equal(await text('repeat', 'a'.repeat(1000), { times: 9999 }), 'TOO_LARGE')
    assert.equal(await run({ task: 'text', problem: { operation: 'upper', text: 5 } }), 'INVALID_PROBLEM')
  })
})

describe('bounded work', () => {
  /** About half a minute of work for 400,000 characters: no literal lets the engine stop early. */
  const matching = (chars: number): Task => ({
    task: 'compare',
    rule: { type: 'Regex', pattern: '([ab]{1,100}){10}[cd]' },
    expected: '',
    given: 'ab'.repeat(chars / 2),
  })

  test('a task that takes too long is terminated, and the next one runs', async (t) => {
    const { run, math } = setup(t)
    await math('1')

    assert.equal(await run(matching(400_000), { cpuMs: 20 }), 'TIMEOUT')
    assert.equal(await math('1+1'), '2')
  })

  test('the limit is processor time: a busy machine makes no task time out', async (t) => {
    const { run } = setup(t, () => 0) // this process gets nothing of it

    assert.equal(await run(matching(2000), { cpuMs: 1 }), false)
  })

  test('a limit of elapsed time holds, whatever processor time was used', async (t) => {
    const { run } = setup(t, () => 0)

    assert.equal(await run(matching(400_000), { cpuMs: 1, wallMs: 50 }), 'TIMEOUT')
  })
})
