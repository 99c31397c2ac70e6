// `reeve problem verify` on collections of packages: what it finds, how it reads labels, and what it makes of missing limits.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, test, type TestContext } from 'node:test'
import { loadLanguages } from '../../src/doors/judge/languages/language.ts'
import { zipFolder } from '../../src/doors/judge/package/zip-folder.ts'
import { matchesGlob } from '../../src/doors/judge/verify/glob.ts'
import { verifyPackage, type VerifyContext } from '../../src/doors/judge/verify/verify-package.ts'
import { atEnd } from '../support/cleanup.ts'
import { REEVE, ROOT } from '../support/program.ts'
import { temporaryFolder } from '../support/servers.ts'
import { packageFiles } from '../support/zip.ts'
import { log, openTestWorker, problemOf } from './judge-worker.ts'
import { cannotTest } from './rig.ts'

const RIGHT = 'print(2 * int(input()))\n'
const WRONG = 'print(7)\n'
const ONLY_SMALL = 'n = int(input())\nprint(2 * n if n < 100 else 0)\n'

async function verified(t: TestContext, files: Readonly<Record<string, string>>, context: Partial<VerifyContext> = {}) {
  const worker = await openTestWorker(t)
  const { signal } = new AbortController()
  const problem = await problemOf(t, files)
  const programs = await verifyPackage(worker, problem, await loadLanguages(''), { signal, log, ...context })
  return new Map(programs.map((one) => [one.submission.name, one]))
}

describe('the labels of a package', { skip: cannotTest }, () => {
  test('are those of submissions.yaml beside those of the folders: by pattern, for all tests or some', async (t) => {
    const programs = await verified(t, {
      'submissions/submissions.yaml': `
mixed/*.py: {permitted: [AC, WA], required: [WA]}
mixed/{small,none}.py:
  sample: {permitted: [AC]}
mixed/two: {entrypoint: start.py}
wrong_answer: {permitted: [AC, WA, TLE], required: [AC, WA]}
`,
      'submissions/mixed/small.py': ONLY_SMALL,
      'submissions/mixed/none.py': WRONG,
      'submissions/mixed/all.py': RIGHT,
      'submissions/mixed/two/aside.py': WRONG,
      'submissions/mixed/two/start.py': RIGHT,
      'submissions/accepted/right.py': RIGHT,
      'submissions/wrong_answer/after_all.py': RIGHT,
      'submissions/elsewhere/any.py': RIGHT,
    })

    assert.deepEqual(
      [...programs.values()].map(({ submission, outcome, kind, why }) => [submission.name, outcome, kind, why]),
      [
        ['accepted/right.py', 'as labelled', null, ''],
        ['elsewhere/any.py', 'not labelled', null, ''],
        ['mixed/all.py', 'differs', 'verdict', 'WA required'],
        ['mixed/none.py', 'differs', 'verdict', 'sample/1: only AC permitted'],
        ['mixed/small.py', 'as labelled', null, ''],
        ['mixed/two', 'not labelled', null, ''],
        ['wrong_answer/after_all.py', 'as labelled', null, ''],
      ],
    )
    assert.equal(programs.get('mixed/two')?.judged?.verdict, 'AC')
  })

  test('a pattern matches names and what is below them, with stars and alternatives', () => {
    const matching: [pattern: string, path: string, expected: boolean][] = [
      ['accepted', 'accepted/a.py', true],
      ['accepted/', 'accepted/a.py', true],
      ['acc', 'accepted/a.py', false],
      ['*/a.py', 'accepted/a.py', true],
      ['*', 'accepted/a.py', true],
      ['a*d/*.py', 'accepted/a.py', true],
      ['a*a*d', 'ad', false],
      ['secret/*-easy', 'secret/1-easy', true],
      ['secret/*-easy', 'secret/deep/1-easy', false],
      ['{x,y}.{py,c}', 'y.c', true],
      ['{x,y}.{py,c}', 'z.c', false],
      ['{', '{', true],
    ]

    for (const [pattern, name, expected] of matching) assert.equal(matchesGlob(pattern, name), expected, pattern)
  })
})

describe('a package without a time limit', { skip: cannotTest }, () => {
  const slow = 'import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\n'
  const submissions = {
    'submissions/accepted/slow.py': slow + RIGHT,
    'submissions/time_limit_exceeded/endless.py': 'while True: pass\n',
  }

  test('gets a multiple of its slowest accepted submission, in whole seconds, where that is asked for', async (t) => {
    const limits: number[] = []
    const context = { measuresTime: true, onTimeLimit: (ms: number) => void limits.push(ms) }

    const programs = await verified(t, { 'problem.yaml': 'limits: {time_multiplier: 2}\n', ...submissions }, context)
    const named = { 'problem.yaml': 'limits: {time_limit: 0.1}\n', ...submissions }
    const late = await verified(t, named, context)

    assert.equal(limits.length, 1) // the other one names its limit
    const measured = programs.get('accepted/slow.py')?.judged?.timeMs ?? 0
    assert.equal(limits[0], Math.ceil((measured * 2) / 1000) * 1000)
    assert.deepEqual(
      [...programs.values()].map(({ outcome }) => outcome),
      ['as labelled', 'as labelled'],
    )
    assert.deepEqual(
      [...late.values()].map(({ outcome, kind }) => [outcome, kind]),
      [
        ['differs', 'time'],
        ['as labelled', null],
      ],
    )
  })
})

describe('a collection of packages', { skip: cannotTest }, () => {
  const collection = async (t: TestContext, packages: Readonly<Record<string, Record<string, string>>>) => {
    const folder = await temporaryFolder(t)
    for (const [name, files] of Object.entries(packages)) {
      for (const [file, content] of Object.entries(packageFiles(files))) {
        await mkdir(path.dirname(path.join(folder, name, file)), { recursive: true })
        await writeFile(path.join(folder, name, file), content)
      }
    }
    return folder
  }
  const reeve = async (t: TestContext, ...words: string[]) => reeveIn(await temporaryFolder(t), {}, words)
  const reeveIn = async (data: string, settings: Readonly<Record<string, string>>, words: readonly string[]) => {
    const { PATH = '', HOME = '' } = process.env
    const env = { PATH, HOME, REEVE_DATA_DIR: data, LOG_LEVEL: 'silent', ...settings }
    const child = spawn(process.execPath, [...REEVE, ...words], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe'] })
    const exited = once(child, 'exit')
    const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
    const [code] = await exited
    return { code, out, err }
  }
  const custom = { 'problem.yaml': 'validation: custom\nlimits: {time_limit: 1}\n' }

  test('is verified package by package; what is refused or incomplete is counted apart', async (t) => {
    const folder = await collection(t, {
      'easy/good': { 'submissions/accepted/a.py': RIGHT, 'submissions/wrong_answer/b.py': WRONG },
      'easy/wrong': { 'submissions/accepted/a.py': ONLY_SMALL, 'submissions/accepted/b.cob': 'x' },
      'hard/incomplete': { 'data/secret/9.ans': '18\n', 'submissions/wrong_answer/a.py': RIGHT },
      'hard/refused': {
        ...custom,
        'output_validators/v.py': 'def (\n',
        'submissions/accepted/a.py': RIGHT,
      },
    })

    const { code, out, err } = await reeve(t, 'problem', 'verify', folder, '--differences', '--parallel', '2')

    const shown = out.split('\n').filter((line) => /^(differs|as labelled|refused)/.test(line))
    assert.deepEqual(
      shown.map((line) => line.replaceAll(`${folder}/`, '').split(/ +/).slice(0, 3).join(' ')),
      ['differs accepted/a.py WA', 'differs wrong_answer/a.py AC', 'refused hard/refused: The'],
    )
    assert.match(out, /^4 packages: 2 complete, 1 incomplete, 1 refused$/m)
    assert.match(
      out,
      /^complete packages: 3 labelled submissions judged, 2 as labelled \(66\.6 %\), 1 differ\n {2}differ: 1 verdict\n {2}not judged: 1 in a language that is not judged here$/m,
    )
    assert.match(out, /^incomplete packages: 1 labelled submissions judged, 0 as labelled \(0\.0 %\), 1 differ$/m)
    assert.equal(code, 1)
    assert.equal(err, '1 of 4 packages refused.\n2 of 5 verdicts differ from their labels.\n')
  })

  test('is verified to its end although a package is refused or the judge fails; each is told once, and in JSON', async (t) => {
    const folder = await collection(t, {
      fails: { ...custom, 'output_validators/v.py': 'exit(42)\n', 'submissions/accepted/a.py': RIGHT },
      good: { 'submissions/accepted/a.py': RIGHT },
      unreadable: { 'problem.yaml': 'limits: [' },
    })
    const data = await temporaryFolder(t)
    await reeveIn(data, {}, ['problem', 'verify', path.join(folder, 'good')]) // its program is in the cache now
    await mkdir(path.join(data, 'judge/programs/full'))
    await writeFile(path.join(data, 'judge/programs/full/file'), Buffer.alloc(1024 ** 2))
    const settings = { JUDGE_CACHE_MAX_BYTES: String(1024 ** 2) }

    const shown = await reeveIn(data, settings, ['problem', 'verify', folder])
    const json = await reeveIn(data, settings, ['problem', 'verify', folder, '--json'])

    const lines: Record<string, unknown>[] = JSON.parse(json.out)
    assert.deepEqual(
      lines.map((line) => [path.basename(String(line['package'])), line['kind'], line['outcome'] ?? line['refused']]),
      [
        ['fails', 'system error', 'The cache programs is full.'],
        ['good', null, 'as labelled'],
        ['unreadable', 'package', lines.at(-1)?.['refused']],
      ],
    )
    assert.match(String(lines.at(-1)?.['refused']), /problem\.yaml/)
    const refused = shown.out.replaceAll(`${folder}/`, '').match(/^refused .*$/gm) ?? []
    assert.equal(refused.length, 2)
    assert.equal(refused[0], 'refused fails: system error: The cache programs is full.')
    assert.match(refused[1] ?? '', /^refused unreadable: .*problem\.yaml/)
    assert.match(shown.out, /^3 packages: 1 complete, 0 incomplete, 2 refused$/m)
    for (const { code, err } of [shown, json]) assert.deepEqual([code, err], [1, '2 of 3 packages refused.\n'])
  })

  test('may share files by links that stay inside it; a package alone may not', async (t) => {
    const folder = await collection(t, {
      one: { ...custom, 'output_validators/v/check.c': '#include "shared.h"\n', 'submissions/accepted/a.py': RIGHT },
    })
    await writeFile(path.join(folder, 'shared.h'), 'int main(void) { return 42; }\n')
    await symlink('../../../shared.h', path.join(folder, 'one/output_validators/v/shared.h'))
    const zips = await mkdtemp(path.join(tmpdir(), 'reeve-test-'))
    atEnd(t, () => rm(zips, { recursive: true, force: true }))

    const { code, out, err } = await reeve(t, 'problem', 'verify', folder)
    const alone = zipFolder(path.join(folder, 'one'), path.join(zips, 'one.zip'))

    assert.equal(code, 0, err)
    assert.match(out, /^as labelled +accepted\/a\.py +AC/m)
    await assert.rejects(alone, /shared\.h is a link that leaves the package/)
  })
})
