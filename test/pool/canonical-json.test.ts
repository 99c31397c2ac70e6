// Canonical JSON against the language that defines it, and against fixed vectors that it wrote.
import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { canonicalJson, canonicalText, memberTexts, NotCanonical } from '@reeve/sdk'
import { seeded } from '../support/seeded.ts'
import { randomJson } from './random-json.ts'

const DOCUMENTS = 100_000
const SEED = Number(process.env['REEVE_TEST_SEED'] ?? 20_260_208)

const PYTHON = `
import json, sys
for line in sys.stdin.buffer:
    value = json.loads(json.loads(line))
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    sys.stdout.buffer.write(text.encode("utf-8") + b"\\n")
`

async function byPython(texts: readonly string[]): Promise<string[]> {
  const child = spawn('python3', ['-c', PYTHON], { stdio: ['pipe', 'pipe', 'inherit'] })
  child.stdin.end(`${texts.map((text) => JSON.stringify(text)).join('\n')}\n`)
  const chunks: Buffer[] = []
  for await (const chunk of child.stdout) chunks.push(chunk)
  return Buffer.concat(chunks).toString().split('\n').slice(0, -1)
}

const hasPython = spawnSync('python3', ['--version']).status === 0

describe('canonical JSON', () => {
  const skip = hasPython ? false : 'python3 is not installed'
  test(`is Python's, byte for byte, for ${DOCUMENTS} random documents (seed ${SEED})`, { skip }, async () => {
    const random = seeded(SEED)
    const texts = Array.from({ length: DOCUMENTS }, () => randomJson(random))

    const expected = await byPython(texts)

    assert.equal(expected.length, DOCUMENTS)
    const wrong = texts.findIndex((text, index) => canonicalText(text) !== expected[index])
    assert.equal(wrong, -1, `${texts[wrong]} is ${expected[wrong]} to Python`)
  })

  // Written by Python 3.11.
  const VECTORS: readonly (readonly [text: string, canonical: string])[] = [
    [
      '{"output_hash": "hash-1", "nonce": "nonce-submit-1", "assignment_id": 15}',
      '{"assignment_id":15,"nonce":"nonce-submit-1","output_hash":"hash-1"}',
    ],
    [
      '[1.0, 1e16, 1e15, -0.0, -0, 0.0001, 0.00001, 1E5]',
      '[1.0,1e+16,1000000000000000.0,-0.0,0,0.0001,1e-05,100000.0]',
    ],
    [
      '[123456789012345678901234567890, 9007199254740993, 9007199254740993.0]',
      '[123456789012345678901234567890,9007199254740993,9007199254740992.0]',
    ],
    ['{"b": 1, "a": 2, "b": 3}', '{"a":2,"b":3}'],
    ['{"\\uffff": 1, "\\ud83d\\ude00": 2, "\\ue000": 3}', '{"\u{e000}":3,"\u{ffff}":1,"\u{1f600}":2}'],
    ['"\\u00e9\\u007f\\u0001\\/\\b\\u2028"', '"\u{e9}\u{7f}\\u0001/\\b\u{2028}"'],
    [' [ ] ', '[]'],
    ['{"a":{},"":[null,true,false]}', '{"":[null,true,false],"a":{}}'],
  ]
  for (const [text, canonical] of VECTORS) {
    test(`of ${text} is the fixed vector`, () => assert.equal(canonicalText(text), canonical))
  }

  const REFUSED = [
    '',
    'NaN',
    '-Infinity',
    '[1,]',
    '{"a":1,}',
    '{a:1}',
    '01',
    '-',
    '1.',
    '.5',
    '1e',
    '+1',
    '"\\x"',
    '"\t"',
    '"',
    '[1 2]',
    '{} {}',
    'nul',
    '1e999',
    '"\\ud800"',
    '{"\\udc00":1}',
    '\u{feff}1',
    "'a'",
  ]
  for (const text of REFUSED) {
    test(`of ${JSON.stringify(text)} does not exist`, () => assert.throws(() => canonicalText(text), NotCanonical))
  }

  test('of a value is that of its JSON', () => {
    assert.equal(canonicalJson({ b: [1, 1.5, 1e21], a: undefined, c: 'é' }), '{"b":[1,1.5,1e+21],"c":"é"}')
    assert.throws(() => canonicalJson(undefined), NotCanonical)
  })

  test('of JSON that is nested too deep is refused, and does not crash', () => {
    assert.throws(() => canonicalText('['.repeat(100_000)), /nested deeper/)
    assert.throws(() => canonicalText('{"a":'.repeat(100_000)), /nested deeper/)
  })
})

describe('the members of an object', () => {
  test('are texts as written; if a name is repeated, the last one counts', () => {
    const text = '{ "a" : {"x": [1.0, "}"], "y": "\\""} ,"b":-0.0,"a\\u0062": "q,:{" , "b" : 1e5,"c":[],"d":null }'

    assert.deepEqual(Object.fromEntries(memberTexts(text)), {
      a: '{"x": [1.0, "}"], "y": "\\""}',
      b: '1e5',
      ab: '"q,:{"',
      c: '[]',
      d: 'null',
    })
    assert.deepEqual([...memberTexts('{}')], [])
  })

  test('read back as the members of the parsed object, for random objects', () => {
    const random = seeded(SEED)
    for (let count = 0; count < 5000; count += 1) {
      const text = `{"k": ${randomJson(random)}, "l":${randomJson(random)} }`
      const read = Object.fromEntries([...memberTexts(text)].map(([key, value]) => [key, JSON.parse(value)]))
      assert.deepEqual(read, JSON.parse(text))
    }
  })
})
