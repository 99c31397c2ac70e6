// Every pattern of the judge that sees a stranger's text, fed text that makes a backtracking pattern quadratic or worse. A
// quadratic one needs about 10^11 steps for each of these and runs into the time-out; a linear one needs milliseconds.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compareBytes } from '../../src/doors/judge/compare/compare.ts'
import { parseFlags } from '../../src/doors/judge/compare/flags.ts'
import { iniValue } from '../../src/doors/judge/package/limits.ts'
import { titleInStatement } from '../../src/doors/judge/package/statement.ts'
import { protocolInSource } from '../../src/doors/judge/package/validator.ts'
import { FieldReader, parseYaml } from '../../src/doors/judge/package/yaml-fields.ts'
import { fileNameOfClass, mainClassOf } from '../../src/doors/judge/programs/main-class.ts'
import { explained } from '../../src/doors/judge/sandbox/remedies.ts'
import { labelOf } from '../../src/doors/judge/verify/labels.ts'

const CHARS = 300_000
const repeated = (text: string) => text.repeat(Math.ceil(CHARS / text.length))
const HOSTILE = [
  '\n',
  ' ',
  '\t\n',
  '#',
  '# ',
  '\n#',
  '/*',
  '"',
  "'",
  '1',
  '1.',
  '.',
  'e',
  '{',
  '\\problemname{',
  '@',
  '=',
]
  .concat([
    '#include ',
    '#define ',
    'package ',
    'public ',
    'class ',
    'void main',
    'void\n',
    'record ',
    '@EXPECTED_RESULTS@',
    ',',
  ])
  .flatMap((text) => [repeated(text), `${repeated(text)}x`, `x${repeated(text)}`])

const READERS: readonly [name: string, read: (text: string) => unknown][] = [
  ['the main class of Java', (text) => mainClassOf([{ name: 'A.java', bytes: Buffer.from(text) }], 'A.java')],
  ['the public class of Java', (text) => fileNameOfClass(Buffer.from(text))],
  ['the protocol of a validator', (text) => protocolInSource(text)],
  ['domjudge-problem.ini', (text) => iniValue(text, 'timelimit')],
  ['a label', (text) => labelOf('accepted', [Buffer.from(text)])],
  ['the title in a statement', (text) => titleInStatement({ language: 'en', format: 'latex', text })],
  ['a failure of the sandbox', (text) => explained(text)],
]

describe('hostile text is read in linear time', { timeout: 120_000 }, () => {
  for (const [name, read] of READERS) {
    test(name, () => {
      for (const text of HOSTILE) read(text)
    })
  }

  test('flags of the comparator', () => {
    for (const text of HOSTILE) assert.throws(() => parseFlags(['float_tolerance', `${text}!`]))
  })

  test('words of a field', () => {
    for (const text of HOSTILE) {
      const reader = new FieldReader('problem.yaml', { validator_flags: text })
      try {
        reader.words('validator_flags')
      } catch (error) {
        assert.match(String(error), /at most 1000 words/)
      }
    }
  })

  test('numbers in an output', async () => {
    const flags = parseFlags(['float_tolerance', '1'])
    for (const text of HOSTILE) await compareBytes(Buffer.from('1'), Buffer.from(text), flags)
  })

  test('YAML with as many keys as fit', () => {
    const keys = Array.from({ length: 10_000 }, (_, n) => `${n}:`)

    assert.equal(Object.keys(parseYaml('problem.yaml', keys.join('\n'))).length, keys.length)
    assert.throws(() => parseYaml('problem.yaml', [...keys, '0:'].join('\n')), /unique/)
  })
})
