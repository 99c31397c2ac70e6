// The comparator, by the rules of the package format: what it takes for the same, and what not.
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import * as fc from 'fast-check'
import { compareBytes, compareFiles } from '../../src/doors/judge/compare/compare.ts'
import { parseFlags } from '../../src/doors/judge/compare/flags.ts'
import { atEnd } from '../support/cleanup.ts'
import { cases } from '../support/size.ts'

const isSame = async (answer: string, output: string, flags = ''): Promise<boolean> =>
  (await compareBytes(Buffer.from(answer), Buffer.from(output), parseFlags(flags.split(' ').filter(Boolean)))).same

async function filesOf(t: TestContext, answer: Buffer, output: Buffer): Promise<[string, string]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'reeve-test-'))
  atEnd(t, () => rm(folder, { recursive: true, force: true }))
  const files: [string, string] = [path.join(folder, 'answer'), path.join(folder, 'output')]
  await writeFile(files[0], answer)
  await writeFile(files[1], output)
  return files
}

describe('the comparator', () => {
  test('treats all white space alike, and ignores it at both ends', async () => {
    assert(await isSame('1 2\n3\n', '1\t2\r\n\v3'))
    assert(await isSame('1 2', '\n\n 1 2 \n'))
    assert(await isSame('', ' \n'))
    assert(!(await isSame('1 2', '12')))
    assert(!(await isSame('1', '1 2')))
    assert(!(await isSame('1 2', '1')))
    assert(!(await isSame('x', '')))
  })

  test('ignores the case of letters, unless it is told not to', async () => {
    assert(await isSame('Yes', 'yES'))
    assert(!(await isSame('Yes', 'yes', 'case_sensitive')))
    assert(!(await isSame('É', 'é')), 'only ASCII letters have a case')
  })

  test('counts every space if it is told to', async () => {
    assert(await isSame('a  b\n', 'A  B\n', 'space_change_sensitive'))
    assert(!(await isSame('a b\n', 'a  b\n', 'space_change_sensitive')))
    assert(!(await isSame('a b\n', 'a b', 'space_change_sensitive')))
    assert(!(await isSame('a b', 'a b ', 'space_change_sensitive')))
  })

  test('takes numbers within a tolerance, absolute or relative, in any notation', async () => {
    assert(await isSame('0.0314', '3.14e-2', 'float_tolerance 1e-9'))
    assert(await isSame('100', '100.9', 'float_relative_tolerance 1e-2'))
    assert(!(await isSame('100', '101.1', 'float_relative_tolerance 1e-2')))
    assert(await isSame('0', '0.0099', 'float_absolute_tolerance 0.01'))
    assert(!(await isSame('0', '0.011', 'float_absolute_tolerance 0.01')))
    assert(await isSame('1000000', '1000001', 'float_tolerance 1e-6'), 'either of the two is enough')
    assert(!(await isSame('1.0', '1.00')), 'without a tolerance they are words')
    assert(!(await isSame('1', 'nan', 'float_tolerance 1')))
    assert(!(await isSame('1', 'inf', 'float_tolerance 1')))
    assert(await isSame('inf', 'inf', 'float_tolerance 1'))
    assert(!(await isSame('1', '1x', 'float_tolerance 1')))
    assert(!(await isSame('x', '1', 'float_tolerance 1')))
  })

  test('says where they differ, and shortens what it quotes', async () => {
    const output = Buffer.from(`a\nb ${'c'.repeat(100_000)}\n`)
    const comparison = await compareBytes(Buffer.from('a\nb d\n'), output, parseFlags([]))

    assert(!comparison.same)
    assert.match(comparison.message, /^Line 2: expected "d", got "c{60}…"\.$/)
  })

  test('a byte that is not text is compared like any other', async () => {
    assert(!(await isSame('a', 'a\0')))
    assert.equal((await compareBytes(Buffer.from([0xff]), Buffer.from([0xfe]), parseFlags([]))).same, false)
  })

  test('reads long words and long space piece by piece, and finds what differs at any place', async (t) => {
    for (const length of [32_768, 65_535, 65_536, 65_537, 131_072, 200_001]) {
      const word = 'a'.repeat(length)
      const pairs: [string, string, boolean][] = [
        [word, word, true],
        [word, `${word}\n`, true],
        [`${word} b`, `${word}b`, false],
        [`${word}b`, word, false],
        [`${word}b`, `${word}c`, false],
        [`a${' '.repeat(length)}b`, 'a b', true],
        ['a b', `a b${'\n'.repeat(length)}`, true],
      ]
      for (const [answer, output, same] of pairs) {
        const files = await filesOf(t, Buffer.from(answer), Buffer.from(output))
        assert.equal((await compareFiles(...files, parseFlags([]))).same, same, `${length}: ${answer.slice(-3)}`)
      }
    }
  })

  test('gives the same answer for files and for memory, and a file always equals itself', async (t) => {
    const words = fc.constantFrom('a', 'A', '1', '1.0', '1e0', ' ', '\n', '  ', 'b')
    const flags = fc.constantFrom([], ['case_sensitive'], ['space_change_sensitive'], ['float_tolerance', '1e-3'])
    await fc.assert(
      fc.asyncProperty(fc.array(words), fc.array(words), flags, async (left, right, words) => {
        const [answer, output] = [Buffer.from(left.join('')), Buffer.from(right.join(''))]
        const parsed = parseFlags(words)
        const files = await filesOf(t, answer, output)
        const fromFiles = await compareFiles(...files, parsed)
        assert.deepEqual(fromFiles, await compareBytes(answer, output, parsed))
        assert.equal((await compareFiles(files[0], files[0], parsed)).same, true)
      }),
      { numRuns: cases(100) },
    )
  })

  test('refuses flags that it does not know', () => {
    assert.throws(() => parseFlags(['float_tolerance']), /needs a number/)
    assert.throws(() => parseFlags(['float_tolerance', 'x']), /needs a number/)
    assert.throws(() => parseFlags(['be_nice']), /not known/)
  })
})
