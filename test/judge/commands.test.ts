// The commands, as somebody at a terminal runs them: what they print, what they exit with.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, test, type TestContext } from 'node:test'
import {
  ask,
  login,
  openClient,
  putProblem,
  setup as setupServer,
  TWICE,
  type ServerOptions,
} from '../contract/judge/setup.ts'
import { temporaryFolder } from '../support/servers.ts'
import { packageFiles, packageOf } from '../support/zip.ts'
import { cannotTest } from './rig.ts'
import { REEVE, ROOT } from '../support/program.ts'

async function reeve(env: Record<string, string>, ...words: string[]) {
  const { PATH = '', HOME = '' } = process.env
  const child = spawn(process.execPath, [...REEVE, ...words], {
    cwd: ROOT,
    env: { PATH, HOME, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = once(child, 'exit')
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = await exited
  return { code, out, err }
}

/** A server, files, and the commands pointed at it. */
async function setup(t: TestContext, options: ServerOptions = {}) {
  const server = await setupServer(t, options)
  const folder = await temporaryFolder(t)
  const file = async (name: string, content: string) => {
    const own = path.join(folder, name)
    await mkdir(path.dirname(own), { recursive: true })
    await writeFile(own, content)
    return own
  }
  const env = { ...server.env, LOG_LEVEL: 'silent' }
  return { ...server, folder, file, run: (...words: string[]) => reeve(env, ...words) }
}

const packageFolder = async (
  file: (name: string, content: string) => Promise<string>,
  files: Record<string, string>,
) => {
  for (const [name, content] of Object.entries(files)) await file(`package/${name}`, content)
  return path.dirname(await file('package/problem.yaml', files['problem.yaml'] ?? ''))
}

/** What judges nothing needs no sandbox. */
const WITHOUT_WORKERS = { role: 'serve' } as const

describe('reeve submit', { skip: cannotTest }, () => {
  test('--wait shows a line for each test and the verdict; it exits with 0 if accepted, otherwise with 3', async (t) => {
    const { url, file, run } = await setup(t)

    const submitted = (source: string) => run('submit', source, '--problem', 'twice', '--wait', '--url', url)
    const [right, wrong] = await Promise.all([
      submitted(await file('a.c', TWICE.accepted)),
      submitted(await file('b.c', TWICE.wrong)),
    ])

    assert.equal(right.code, 0, right.err)
    assert.match(right.out, /^submitted {2}[0-9a-f-]{36} {2}twice {2}c$/m)
    assert.deepEqual(
      [...right.out.matchAll(/^(\S+) +AC +\d+ ms/gm)].map((match) => match[1]),
      ['sample/1', 'secret/1', 'secret/2'],
    )
    assert.match(right.out, /^Accepted {2}\d+ ms/m)
    assert.equal(wrong.code, 3)
    assert.match(wrong.out, /^Wrong Answer/m)
  })

  test('--json is the finished submission; without --wait only its id is printed', async (t) => {
    const { url, file, run } = await setup(t)
    const source = await file('a.c', TWICE.accepted)

    const [json, bare] = await Promise.all([
      run('submit', source, '--problem', 'twice', '--wait', '--json', '--url', url),
      run('submit', source, '--problem', 'twice', '--url', url),
    ])

    assert.equal(JSON.parse(json.out).verdict, 'AC')
    assert.match(bare.out, /^[0-9a-f-]{36}\n$/)
    assert.deepEqual([json.code, bare.code], [0, 0])
  })

  test('says in one line what is wrong', async (t) => {
    const { url, file, run } = await setup(t, WITHOUT_WORKERS)
    const source = await file('a.c', TWICE.accepted)

    const [nowhere, unknown, nobody, away] = await Promise.all([
      run('submit', source, '--problem', 'nowhere', '--url', url),
      run('submit', await file('a.cob', 'x'), '--problem', 'twice', '--url', url),
      run('submit', source, '--problem', 'twice', '--url', url, '--as', 'nobody'),
      run('submit', source, '--problem', 'twice', '--url', 'http://127.0.0.1:9'),
    ])

    assert.deepEqual([nowhere.code, nowhere.err], [1, '404: There is no such problem.\n'])
    assert.deepEqual([unknown.code, unknown.err], [2, 'Name the language: --language ID.\n'])
    assert.deepEqual([nobody.code, nobody.err], [1, 'There is no account nobody: use --as.\n'])
    assert.match(away.err, /^No answer from http:\/\/127\.0\.0\.1:9: is the server running\?\n$/)
  })
})

describe('reeve problem', { skip: cannotTest }, () => {
  test('import takes folders and zips, into the database or through the server, and list shows them', async (t) => {
    const { url, file, folder, run } = await setup(t, WITHOUT_WORKERS)
    const own = await packageFolder(file, packageFiles({ 'problem.yaml': 'name: By folder\n' }))
    const zip = path.join(folder, 'by-zip.zip')
    await writeFile(zip, packageOf(packageFiles({ 'problem.yaml': 'name: By zip\n' })))

    const [direct, through] = await Promise.all([
      run('problem', 'import', own, '--id', 'by-folder'),
      run('problem', 'import', zip, '--url', url),
    ])
    const list = await run('problem', 'list', '--json')

    assert.deepEqual([direct.code, direct.out], [0, 'by-folder: By folder, 3 tests\n'])
    assert.deepEqual([through.code, through.out], [0, 'by-zip: By zip, 3 tests\n'])
    assert.deepEqual(
      JSON.parse(list.out).map((one: { problem_id: string; title: string }) => [one.problem_id, one.title]),
      [
        ['by-folder', 'By folder'],
        ['by-zip', 'By zip'],
        ['twice', 'Twice'],
      ],
    )
    const { body } = await ask(`${url}/problems/by-folder`, { headers: await login(url) })
    assert.equal(body.title, 'By folder')
  })

  test('import says what is wrong with a package', async (t) => {
    const { file, run } = await setup(t, WITHOUT_WORKERS)
    const own = await packageFolder(file, { 'problem.yaml': 'name: Empty\n' })

    const refused = await run('problem', 'import', own)

    assert.equal(refused.code, 1)
    assert.match(refused.err, /data\/secret is missing\.\n$/)
  })

  test('verify judges what is labelled, needs no server, and fails if a verdict differs', async (t) => {
    const { file, run, stop } = await setup(t, WITHOUT_WORKERS)
    await stop()
    const own = await packageFolder(
      file,
      packageFiles({
        'submissions/accepted/right.c': TWICE.accepted,
        'submissions/wrong_answer/wrong.c': TWICE.wrong,
        'submissions/accepted/foreign.cob': 'x',
      }),
    )

    const good = await run('problem', 'verify', own)
    await file('package/submissions/accepted/not_really.c', TWICE.wrong)
    const bad = await run('problem', 'verify', own, '--json')

    assert.equal(good.code, 0, good.err)
    assert.match(good.out, /^as labelled +accepted\/right\.c +AC/m)
    assert.match(good.out, /^as labelled +wrong_answer\/wrong\.c +WA/m)
    assert.match(good.out, /^not judged +accepted\/foreign\.cob/m)
    assert.equal(bad.code, 1)
    const lines: { submission: string; outcome: string; why: string }[] = JSON.parse(bad.out)
    assert.deepEqual(
      lines.filter(({ outcome }) => outcome === 'differs').map(({ submission, why }) => [submission, why]),
      [['accepted/not_really.c', 'expected AC']],
    )
  })

  test('a replaced problem keeps its id, and every import is recorded with its account', async (t) => {
    const { url, at, file, run } = await setup(t, WITHOUT_WORKERS)
    await putProblem(url, 'twice', packageOf(packageFiles({ 'problem.yaml': 'name: Later\n' })))
    const own = await packageFolder(file, packageFiles({ 'problem.yaml': 'name: Last\n' }))
    await run('problem', 'import', own, '--id', 'twice')

    const client = await openClient(t, at)
    const { rows } = await client.query('select account_id is null as by_hand from problem_imports order by import_id')

    assert.deepEqual(
      rows.map((row) => row.by_hand),
      [false, false, true],
    )
  })
})

describe('reeve doctor', { skip: cannotTest }, () => {
  test('says whether the sandbox holds and which languages are installed', async (t) => {
    const folder = await temporaryFolder(t)
    const languages = path.join(folder, 'languages.json')
    const gone = { name: 'Gone', extensions: ['.gone'], source: 'x.gone', version: ['no-such-program'], run: ['x'] }
    const others = { java: null, javascript: null, rust: null } // which take seconds to ask
    await writeFile(languages, JSON.stringify({ ...others, gone: { ...gone, install: 'apt-get install gone' } }))

    const { out } = await reeve({ REEVE_DATA_DIR: folder, JUDGE_LANGUAGES_FILE: languages }, 'doctor', '--json')

    const checks: { what: string; status: string; detail: string }[] = JSON.parse(out)
    const statusOf = (name: string) => checks.find(({ what }) => what === name)
    assert.equal(statusOf('sandbox')?.status, 'ok')
    assert.equal(statusOf('C')?.status, 'ok')
    assert.deepEqual(
      [statusOf('Gone')?.status, statusOf('Gone')?.detail],
      ['missing', 'no-such-program is not here: apt-get install gone'],
    )
  })
})
