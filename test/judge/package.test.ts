// Packages as their authors write them, in older and newer versions of the format.
import assert from 'node:assert/strict'
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { grade, type Graded } from '../../src/doors/judge/work/grade.ts'
import type { Grading } from '../../src/doors/judge/package/package.ts'
import { readPackage } from '../../src/doors/judge/package/read-package.ts'
import { unzip } from '../../src/doors/judge/package/unzip.ts'
import { zipFolder } from '../../src/doors/judge/package/zip-folder.ts'
import { labelOf } from '../../src/doors/judge/verify/labels.ts'
import { fileNameOfClass, mainClassOf } from '../../src/doors/judge/programs/main-class.ts'
import { maxScoreOf } from '../../src/doors/judge/work/judge-tests.ts'
import { atEnd } from '../support/cleanup.ts'
import { packageFiles, zipOf } from '../support/zip.ts'

async function folderOf(t: TestContext, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'reeve-test-'))
  atEnd(t, () => rm(folder, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true })
    await writeFile(path.join(folder, name), text)
  }
  return folder
}

const read = async (t: TestContext, files: Readonly<Record<string, string>>) =>
  readPackage(await folderOf(t, packageFiles(files)))

describe('the time limit of a package', () => {
  test('is limits.time_limit, else .timelimit, else domjudge-problem.ini, else a second', async (t) => {
    const all = {
      'problem.yaml': 'limits: {time_limit: 3.5}',
      '.timelimit': '2\n',
      'domjudge-problem.ini': "short-name = x\ntimelimit='4.25'\n",
    }
    const timeOf = async (files: Record<string, string>) => (await read(t, files)).limits.timeMs

    assert.equal(await timeOf(all), 3500)
    assert.equal(await timeOf({ ...all, 'problem.yaml': '' }), 2000)
    assert.equal(await timeOf({ 'problem.yaml': '', 'domjudge-problem.ini': all['domjudge-problem.ini'] }), 4250)
    assert.equal(await timeOf({ 'problem.yaml': '' }), 1000)
  })

  test('other limits have the defaults of the format', async (t) => {
    const { limits } = await read(t, { 'problem.yaml': '' })
    const own = await read(t, { 'problem.yaml': 'limits: {memory: 64, output: 1, validation_time: 5}' })
    const generous = await read(t, { 'problem.yaml': 'limits: {output: 24576}' })

    const mb = 1024 * 1024
    assert.deepEqual([limits.memoryBytes, limits.outputBytes, limits.validationMs], [1024 * mb, 8 * mb, 60_000])
    assert.deepEqual([own.limits.memoryBytes, own.limits.outputBytes, own.limits.validationMs], [64 * mb, mb, 5000])
    assert.equal(generous.limits.outputBytes, 1024 * mb)
  })
})

describe('a zip whose entry cannot be opened', () => {
  test('leaves nothing behind that fails when its folder is gone', async (t) => {
    const folder = await folderOf(t, {})
    const zip = zipOf([{ name: 'problem.yaml', content: 'name: x' }])
    zip.writeUInt32LE(0, 0) // no longer the signature of a local header
    await writeFile(path.join(folder, 'x.zip'), zip)
    const into = path.join(folder, 'into')
    await mkdir(into)

    await assert.rejects(unzip(path.join(folder, 'x.zip'), into, 1e6), /cannot be read/)
    const left = await readdir(into)

    assert.deepEqual(left, [])
  })
})

describe('the flags of a test', () => {
  test('are in testdata.yaml, or in test_group.yaml of newer packages', async (t) => {
    const flagsOf = async (files: Record<string, string>) =>
      (await read(t, files)).tests.map((one) => one.validatorFlags)

    const older = await flagsOf({ 'data/testdata.yaml': 'output_validator_flags: float_tolerance 1e-6\n' })
    const newer = await flagsOf({ 'data/test_group.yaml': 'output_validator_args: [float_tolerance, "1e-6"]\n' })

    assert.deepEqual(newer, older)
    assert.deepEqual(newer[0], ['float_tolerance', '1e-6'])
  })
})

describe('the title of a package', () => {
  test('is in problem.yaml, in one language or in several, or in the statement or in the ini file of older packages', async (t) => {
    const titleOf = async (files: Record<string, string>) => (await read(t, files)).title

    assert.equal(await titleOf({ 'problem.yaml': 'name: One' }), 'One')
    assert.equal(await titleOf({ 'problem.yaml': 'name: {sv: Ett, en: One}' }), 'One')
    assert.equal(await titleOf({ 'problem.yaml': 'name: {sv: Ett}' }), 'Ett')
    assert.equal(
      await titleOf({ 'problem.yaml': '', 'problem_statement/problem.en.tex': '\\problemname{From TeX}' }),
      'From TeX',
    )
    assert.equal(await titleOf({ 'problem.yaml': '', 'domjudge-problem.ini': 'name = From ini' }), 'From ini')
    assert.equal(await titleOf({ 'problem.yaml': '' }), null)
  })
})

describe('the validator of a package', () => {
  const VALIDATOR = { 'output_validators/check/check.cc': 'int main() {}', 'output_validators/check/check.h': '' }

  test('is used where problem.yaml asks for it, in older packages, and where it is there, in newer ones', async (t) => {
    const older = await read(t, { 'problem.yaml': 'validation: custom', ...VALIDATOR })
    const unasked = await read(t, { 'problem.yaml': '', ...VALIDATOR })
    const newer = await read(t, {
      'problem.yaml': 'problem_format_version: 2023-07-draft',
      'output_validator/check.py': '',
    })

    assert.deepEqual(older.validator?.files, ['check.cc', 'check.h'])
    assert.equal(unasked.validator, null)
    assert.deepEqual(newer.validator?.files, ['check.py'])
  })

  test('speaks testlib’s protocol if it includes testlib.h, unless that is built for DOMjudge', async (t) => {
    const protocolOf = async (source: string) =>
      (await read(t, { 'problem.yaml': 'validation: custom', 'output_validators/check.cpp': source })).validator
        ?.protocol

    assert.equal(await protocolOf('#include "testlib.h"\nint main() {}'), 'testlib')
    assert.equal(await protocolOf('#define DOMJUDGE\n#include <testlib.h>\n'), 'kattis')
    assert.equal(await protocolOf('// #include "testlib.h"? no\n'), 'kattis')
  })

  test('is interactive, scores, or takes several passes, in the keywords of either format version', async (t) => {
    const older = await read(t, { 'problem.yaml': 'validation: custom interactive score\ntype: scoring', ...VALIDATOR })
    const newer = await read(t, {
      'problem.yaml':
        'problem_format_version: 2023-07\ntype: [scoring, interactive, multi-pass]\nlimits: {validation_passes: 7}',
      'output_validator/check.py': '',
    })

    assert.deepEqual([older.isInteractive, older.isScoring, older.validator?.scores], [true, true, 'must'])
    assert.deepEqual([newer.isInteractive, newer.isScoring, newer.passesMax], [true, true, 7])
    assert.equal(newer.validator?.scores, 'may')
  })

  test('unsupported features are refused by name', async (t) => {
    await assert.rejects(read(t, { 'problem.yaml': 'type: submit-answer' }), /submit-answer is not supported/)
    await assert.rejects(read(t, { 'problem.yaml': 'validation: magic' }), /magic is not supported/)
    await assert.rejects(read(t, { 'data/testdata.yaml': 'grader_flags: toss_a_coin' }), /toss_a_coin/)
    await assert.rejects(read(t, { 'data/testdata.yaml': 'range: 5 1' }), /range must be two numbers/)
  })
})

describe('the tests of a package', () => {
  test('come in the order of their names, samples first, and inherit what their folder says', async (t) => {
    const { tests, root } = await read(t, {
      'problem.yaml': 'type: scoring\nvalidator_flags: case_sensitive',
      'data/testdata.yaml': 'range: 0 100\non_reject: continue\ngrader_flags: ignore_sample',
      'data/secret/testdata.yaml': 'output_validator_flags: float_tolerance 0.1',
      'data/secret/b/testdata.yaml': 'accept_score: 40\nrange: 0 40\ngrader_flags: min',
      'data/secret/b/2.in': '',
      'data/secret/b/2.ans': '',
      'data/secret/a/1.in': '',
      'data/secret/a/1.ans': '',
      'data/invalid_inputs/x.in': '',
    })

    assert.deepEqual(
      tests.map(({ name, validatorFlags }) => [name, ...validatorFlags].join(' ')),
      [
        'sample/1 case_sensitive',
        'secret/1 float_tolerance 0.1',
        'secret/2 float_tolerance 0.1',
        'secret/a/1 float_tolerance 0.1',
        'secret/b/2 float_tolerance 0.1',
      ],
    )
    const secret = root.children.find((child) => child.name === 'secret')
    assert(secret?.kind === 'group')
    const b = secret.children.find((child) => child.name === 'secret/b')
    assert(b?.kind === 'group')
    assert.deepEqual([b.acceptScore, b.onReject, b.grading.score, b.range], [40, 'continue', 'min', [0, 40]])
    assert.equal(maxScoreOf(root), 100)
  })
})

describe('grading', () => {
  const grading = (changes: Partial<Grading> = {}): Grading => ({
    verdict: 'worst_error',
    score: 'sum',
    ignoreSample: false,
    acceptIfAnyAccepted: false,
    ...changes,
  })
  const results: Graded[] = [
    { verdict: 'WA', score: 0 },
    { verdict: 'RE', score: 5 },
    { verdict: 'AC', score: 10 },
  ]

  test('takes the worst error, the first error or none, and the sum, mean, minimum or maximum of the scores', () => {
    assert.deepEqual(grade(results, grading()), { verdict: 'RE', score: 15 })
    assert.deepEqual(grade(results, grading({ verdict: 'first_error', score: 'avg' })), { verdict: 'WA', score: 5 })
    assert.deepEqual(grade(results, grading({ verdict: 'always_accept', score: 'min' })), { verdict: 'AC', score: 0 })
    assert.deepEqual(grade(results, grading({ acceptIfAnyAccepted: true, score: 'max' })), { verdict: 'AC', score: 10 })
    assert.deepEqual(grade(results, grading({ ignoreSample: true })), { verdict: 'AC', score: 10 })
    assert.deepEqual(grade([], grading()), { verdict: 'AC', score: 0 })
  })
})

describe('a folder as a zip', () => {
  test('unzips to what it was, hidden files and inner links included, and zips to the same bytes twice', async (t) => {
    const folder = await folderOf(t, packageFiles({ '.timelimit': '2', 'data/secret/big.in': 'x'.repeat(300_000) }))
    await symlink('1.in', path.join(folder, 'data/secret/3.in'))
    await symlink('sample', path.join(folder, 'data/more'))
    const out = await folderOf(t, {})
    const [one, two] = [path.join(out, '1.zip'), path.join(out, '2.zip')]

    await zipFolder(folder, one)
    await zipFolder(folder, two)
    const { folder: top } = await unzip(one, path.join(out, 'unzipped'), 1_000_000)

    assert(Buffer.from(await readFile(one)).equals(await readFile(two)))
    for (const name of ['problem.yaml', '.timelimit', 'data/secret/big.in', 'data/secret/3.in', 'data/more/1.ans'])
      assert.equal(await readFile(path.join(top, name), 'utf8'), await readFile(path.join(folder, name), 'utf8'), name)
  })

  test('a link that leaves it is refused', async (t) => {
    const folder = await folderOf(t, packageFiles())
    await symlink('/etc/passwd', path.join(folder, 'data/secret/3.in'))

    await assert.rejects(zipFolder(folder, path.join(await folderOf(t, {}), 'x.zip')), /leaves the package/)
  })
})

describe('labels', () => {
  test('a submission’s folder gives its expected verdicts, and an @EXPECTED_RESULTS@ line replaces them', () => {
    const verdictsOf = (folder: string, ...sources: string[]) =>
      labelOf(
        folder,
        sources.map((text) => Buffer.from(text)),
      )?.verdicts

    assert.deepEqual(verdictsOf('wrong_answer', ''), ['WA'])
    assert.deepEqual(verdictsOf('run_time_error', ''), ['RE', 'MLE'])
    assert.deepEqual(verdictsOf('multiple', '// @EXPECTED_RESULTS@: CORRECT, TIMELIMIT\n'), ['AC', 'TLE'])
    assert.deepEqual(verdictsOf('accepted', '', '# @EXPECTED_RESULTS@: RUN_TIME_ERROR\n'), ['RE', 'MLE'])
    assert.equal(verdictsOf('multiple', '// @EXPECTED_RESULTS@: CHECK-MANUALLY\n'), undefined)
    assert.equal(verdictsOf('notes', ''), undefined)
  })
})

describe('the main class of a Java program', () => {
  const mainOf = (...sources: string[]) =>
    mainClassOf(
      sources.map((text, n) => ({ name: `F${n}.java`, bytes: Buffer.from(text) })),
      'F0.java',
    )

  test('is the class around the main method, with its package, whatever comments and texts say', () => {
    assert.equal(mainOf('class A {} public class B { public static void main(String[] a) {} }'), 'B')
    assert.equal(mainOf('package x.y;\nclass A { static public void main (final String... a) {} }'), 'x.y.A')
    assert.equal(
      mainOf('/* class C { void main( } */ class A { String s = "class B {"; void main(String[] a) {} }'),
      'A',
    )
    assert.equal(mainOf('class A {}', 'class B { static void main(String[] a) {} }'), 'B')
    assert.equal(mainOf('class A { void mainly() {} }'), null)
    assert.equal(mainOf('class A { static class Pair {} enum E { X { } } static void main(String[] a) {} }'), 'A')
    assert.equal(mainOf('class A { record P(int record) {} Class<?> c = A.class; void main(String[] a) {} }'), 'A')
    assert.equal(mainOf('class A { static class B { static void main(String[] a) {} } }'), 'A$B')
    assert.equal(mainOf('class A { void main(String[] a) {} }\npublic class B { void main(String[] a) {} }'), 'B')
    assert.equal(
      mainOf('class A { String s = """\n  } class C { void main() {\n  """; void main(String[] a) {} }'),
      'A',
    )
    assert.equal(mainOf('class Helper { void main(String[] a) {} }', 'class Main { void main(String[] a) {} }'), 'Main')
    assert.equal(fileNameOfClass(Buffer.from('// public class Z\npublic final class Q {}')), 'Q.java')
    assert.equal(fileNameOfClass(Buffer.from('class Q {}')), 'Main.java')
  })

  test('is found in linear time, whatever the source', () => {
    // With a backtracking pattern each of these would take hours.
    const texts = [
      '/*',
      '"\\"',
      'class ',
      '//',
      '"',
      'void main',
      '\n',
      'package ',
      'package\n',
      'public ',
      'class A{',
      'void ',
    ]
    const hostile = texts.map((text) => text.repeat(1_000_000 / text.length))

    for (const text of hostile) assert.equal(mainOf(text), null)
  })
})
