// judge: packages in, problems out; what is wrong with a package is said, and nothing has changed.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { connect } from 'node:net'
import path from 'node:path'
import { describe, test } from 'node:test'
import { ReeveClient } from '@reeve/sdk'
import { cannotTest } from '../../judge/rig.ts'
import { temporaryFolder } from '../../support/servers.ts'
import { packageFiles, packageOf, zipOf, type ZipEntry } from '../../support/zip.ts'
import {
  account,
  ask,
  judge,
  judged,
  login,
  openClient,
  putProblem,
  setup,
  startServer,
  TWICE,
  type Credentials,
} from './setup.ts'

const entriesOf = (files = packageFiles()): ZipEntry[] =>
  Object.entries(files).map(([name, content]) => ({ name, content }))

const PACKAGES: readonly [why: string, zip: Buffer<ArrayBuffer>, error: RegExp][] = [
  ['not a zip', Buffer.from('PK nothing of the kind'), /cannot be read/],
  ['empty', Buffer.alloc(0), /cannot be read/],
  ['cut off', packageOf().subarray(0, 300), /cannot be read/],
  ['no problem.yaml', zipOf([{ name: 'data/secret/1.in' }]), /problem\.yaml is missing/],
  ['two top folders', zipOf([{ name: 'a/problem.yaml' }, { name: 'b/x' }]), /problem\.yaml is missing/],
  ['no data/secret', zipOf([{ name: 'problem.yaml', content: 'name: x' }]), /data\/secret is missing/],
  ['no secret test', packageOf({ 'problem.yaml': '', 'data/secret/readme': '' }), /holds no test/],
  ['no answer', zipOf([...entriesOf(), { name: 'data/secret/3.in' }]), /3\.in has no 3\.ans/],
  ['a path that leaves', zipOf([...entriesOf(), { name: '../../etc/passwd', content: 'x' }]), /\.\./],
  ['a path from the root', zipOf([...entriesOf(), { name: '/etc/passwd', content: 'x' }]), /etc\/passwd/],
  ['a backslash path', zipOf([...entriesOf(), { name: '..\\..\\x', content: 'x' }]), /\.\./],
  ['a link', zipOf([...entriesOf(), { name: 'data/secret/3.in', content: '/etc/passwd', mode: 0o120777 }]), /links/],
  ['a device', zipOf([...entriesOf(), { name: 'data/secret/3.in', mode: 0o020666 }]), /neither a file nor/],
  ['the same file twice', zipOf([...entriesOf(), { name: 'problem.yaml', content: 'x' }]), /twice/],
  ['a file that is a folder', zipOf([...entriesOf(), { name: 'problem.yaml/x', content: 'x' }]), /same name/],
  ['encrypted', zipOf([...entriesOf(), { name: 'x', content: 'x', isEncrypted: true }]), /encrypted/],
  ['a control character', zipOf([...entriesOf(), { name: 'a\nb', content: 'x' }]), /not a name/],
  [
    'more than it says',
    zipOf([...entriesOf(), { name: 'x', content: 'x'.repeat(9999), claimedBytes: 9 }]),
    /cannot be read/,
  ],
  ['a bomb', zipOf([...entriesOf(), { name: 'x', content: Buffer.alloc(3_000_000) }]), /more than 2000000 bytes/],
  ['bad YAML', packageOf(packageFiles({ 'problem.yaml': 'a: [' })), /problem\.yaml is not YAML/],
  ['an alias bomb', packageOf(packageFiles({ 'problem.yaml': aliasBomb() })), /YAML/],
  ['large YAML', packageOf(packageFiles({ 'problem.yaml': `name: ${'x'.repeat(65_536)}` })), /larger than 65536/],
  ['nested YAML', packageOf(packageFiles({ 'problem.yaml': '['.repeat(60_000) })), /problem\.yaml is not YAML/],
  ['a key twice', packageOf(packageFiles({ 'problem.yaml': 'name: a\nname: b' })), /unique/],
  ['a list', packageOf(packageFiles({ 'problem.yaml': '- a' })), /not a mapping/],
  ['a bad limit', packageOf(packageFiles({ 'problem.yaml': 'limits:\n  time_limit: long' })), /time_limit must be/],
  ['a bad .timelimit', packageOf(packageFiles({ 'problem.yaml': '', '.timelimit': 'x' })), /\.timelimit/],
  ['a flag', packageOf(packageFiles({ 'problem.yaml': 'validator_flags: be_nice' })), /be_nice is not known/],
  ['no validator', packageOf(packageFiles({ 'problem.yaml': 'validation: custom' })), /holds none/],
  ['a custom grader', packageOf(packageFiles({ 'data/testdata.yaml': 'grading: custom' })), /custom graders/],
]

function aliasBomb(): string {
  const levels = Array.from({ length: 9 }, (_, n) => `l${n + 1}: &l${n + 1} [${`*l${n}, `.repeat(9)}*l${n}]`)
  return `l0: &l0 [x]\n${levels.join('\n')}\n`
}

describe('judge PUT /problems/{problem_id}', { skip: cannotTest }, () => {
  test('judge 5.1: importing is 201 for a new problem and 200 for a replaced one, with title and number of tests', async (t) => {
    const { url } = await startServer(t, { role: 'serve' })

    const created = await putProblem(url, 'twice')
    const files = packageFiles({ 'problem.yaml': 'name:\n  de: Zweimal\n  en: Two times\n' })
    const replaced = await putProblem(url, 'twice', packageOf(files))

    assert.deepEqual([created.status, created.body], [201, { problem_id: 'twice', title: 'Twice', tests: 3 }])
    assert.deepEqual([replaced.status, replaced.body], [200, { problem_id: 'twice', title: 'Two times', tests: 3 }])
  })

  test('judge 5.2: the package is the root of the zip or its only folder', async (t) => {
    const { url, ann } = await setup(t)
    const inFolder = Object.fromEntries(
      Object.entries(packageFiles()).map(([name, text]) => [`twice-1.0/${name}`, text]),
    )

    assert.equal((await putProblem(url, 'nested', packageOf({ ...inFolder, '__MACOSX/x': '' }))).status, 201)
    assert.equal((await judge(url, ann, { problem_id: 'nested', code: TWICE.accepted })).verdict, 'AC')
  })

  test('judge 5.3: importing needs the role ADMIN, whatever the body', async (t) => {
    const { url } = await startServer(t, { role: 'serve' })
    const asking = { method: 'PUT', bytes: packageOf() }
    const type = { 'content-type': 'application/zip' }

    const nobody = await ask(`${url}/problems/x`, { ...asking, headers: type })
    const ann = await ask(`${url}/problems/x`, { ...asking, headers: { ...type, ...(await account(url, 'ann')) } })

    assert.deepEqual([nobody.status, nobody.body.code], [401, 'unauthorized'])
    assert.deepEqual([ann.status, ann.body.code], [403, 'forbidden'])
  })

  test('judge 5.4, 5.12: a package that cannot be judged is 400 with what to fix, and nothing of it is kept', async (t) => {
    const { url, at, folder, env } = await startServer(t, {
      role: 'serve',
      env: { PROBLEM_UNPACKED_MAX_BYTES: '2000000', JUDGE_CACHE_DIR: await temporaryFolder(t) },
    })

    for (const [why, zip, error] of PACKAGES) {
      const refused = await putProblem(url, 'bad', zip)
      assert.deepEqual([refused.status, refused.body.code], [400, 'invalid_package'], `${why}: ${refused.body.error}`)
      assert.match(refused.body.error, error, why)
      assert(!refused.body.error.includes('/tmp/'), `${why}: ${refused.body.error}`)
    }

    const client = await openClient(t, at)
    assert.equal((await client.query('select from problems')).rowCount, 0)
    assert.deepEqual(
      (await readdir(path.join(folder, 'files'))).filter((name) => name !== '~tmp'),
      [],
    )
    assert.deepEqual(await readdir(path.join(env['JUDGE_CACHE_DIR'] ?? '', 'uploads')), [])
  })

  test('judge 5.13: a package whose validator does not compile is refused by a server that judges', async (t) => {
    const { url } = await startServer(t)
    const broken = packageFiles({
      'problem.yaml': 'name: Broken\nvalidation: custom\n',
      'output_validators/validate.c': 'int main(void) { return missing; }\n',
    })

    const refused = await putProblem(url, 'broken', packageOf(broken))

    assert.deepEqual([refused.status, refused.body.code], [400, 'invalid_package'])
    assert.match(refused.body.error, /The output validator does not compile\..*missing/s)
  })

  test('judge 5.14: uploads that are cut off change nothing, and all others at the same time are answered', async (t) => {
    const lines: string[] = []
    const { url, stop } = await startServer(t, { role: 'serve', lines })
    const admin = await login(url)
    const zip = packageOf()
    const put = (id: string, body: Uint8Array<ArrayBuffer>) =>
      ask(`${url}/problems/${id}`, {
        method: 'PUT',
        bytes: body,
        headers: { ...admin, 'content-type': 'application/zip' },
      })

    const cut = Array.from({ length: 10 }, (_, n) => cutOff(url, `cut${n}`, { ...admin }, zip))
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, n) => put(`p${n}`, n % 3 === 0 ? zip.subarray(0, 30 * n) : zip)),
    )
    await Promise.all(cut)

    const wanted = answers.map((_, n) => (n % 3 === 0 ? 400 : 201))
    assert.deepEqual(
      answers.map(({ status }) => status),
      wanted,
    )
    const listed = await ask(`${url}/problems?limit=500`, { headers: admin })
    const ids: string[] = listed.body.problems.map(({ problem_id }: { problem_id: string }) => problem_id)
    assert.equal(ids.length, 20)
    assert.deepEqual(
      ids.filter((id) => id.startsWith('cut')),
      [],
    )
    await stop() // it has met the end of every upload by then
    assert.deepEqual(
      lines.filter((line) => /"level":"(error|warn)"/.test(line)),
      [],
    )
  })

  test('judge 5.5: a bad id, content type or size is refused', async (t) => {
    const { url } = await startServer(t, { role: 'serve', env: { PROBLEM_PACKAGE_MAX_BYTES: '2000' } })
    const admin = await login(url)
    const put = (id: string, type: string, bytes = packageOf()) =>
      ask(`${url}/problems/${id}`, { method: 'PUT', bytes, headers: { ...admin, 'content-type': type } })

    const badId = await put('a%20b', 'application/zip')
    const badType = await put('x', 'application/json')
    const large = await put('x', 'application/zip', packageOf(packageFiles({ x: randomText(4000) })))

    assert.deepEqual([badId.status, badId.body.code], [400, 'invalid_problem_id'])
    assert.deepEqual([badType.status, badType.body.code], [415, 'unsupported_media_type'])
    assert.deepEqual([large.status, large.body.code], [413, 'too_large'])
    assert.match(large.body.error, /PROBLEM_PACKAGE_MAX_BYTES/)
  })

  test('judge 5.6: a body of unknown length is cut off at the limit', async (t) => {
    const { url } = await startServer(t, { role: 'serve', env: { PROBLEM_PACKAGE_MAX_BYTES: '2000' } })
    const chunk = Buffer.alloc(1000, 'x')
    async function* endless() {
      for (let n = 0; n < 1000; n += 1) yield chunk
    }

    const response = await fetch(`${url}/problems/x`, {
      method: 'PUT',
      body: ReadableStream.from(endless()),
      duplex: 'half',
      headers: { ...(await login(url)), 'content-type': 'application/zip' },
    }).catch((error: unknown) => error)

    // The server answers and hangs up; a client that is still sending may see only the latter.
    if (response instanceof Response) assert.equal(response.status, 413)
    assert.equal((await ask(`${url}/healthz`)).status, 200)
  })

  test('judge 5.7: a submission is judged by the package that was in force when it was submitted', async (t) => {
    const server = await setup(t, { role: 'serve' })
    const { url, ann } = server
    const before = await ask(`${url}/submit`, {
      body: { problem_id: 'twice', language: 'c', code: TWICE.accepted },
      headers: ann,
    })
    const other = packageFiles({ 'data/secret/1.ans': '3\n' })
    assert.equal((await putProblem(url, 'twice', packageOf(other))).status, 200)
    const after = await ask(`${url}/submit`, {
      body: { problem_id: 'twice', language: 'c', code: TWICE.accepted },
      headers: ann,
    })
    await startServer(t, { on: server.at, folder: server.folder, role: 'work' })

    const results = await Promise.all([before, after].map(({ body }) => judged(url, ann, body.job_id)))

    assert.deepEqual(
      results.map(({ verdict }) => verdict),
      ['AC', 'WA'],
    )
  })
})

describe('judge GET /problems', { skip: cannotTest }, () => {
  test('judge 5.8: the sample problems are installed on the first start, and not again', async (t) => {
    const env = { JUDGE_SAMPLE_PROBLEMS: 'true' }
    const first = await startServer(t, { role: 'serve', env })
    const { body } = await ask(`${first.url}/problems`, { headers: await login(first.url) })
    const client = await openClient(t, first.at)
    await client.query(`delete from problem_imports where problem_id <> 'pennant'`)
    await client.query(`delete from problems where problem_id <> 'pennant'`)
    await first.stop()
    const second = await startServer(t, { role: 'serve', env, on: first.at, folder: first.folder })
    const later = await ask(`${second.url}/problems`, { headers: await login(second.url) })

    const ids = body.problems.map((one: { problem_id: string }) => one.problem_id)
    assert.deepEqual(ids, ['deep-well', 'market-day', 'mill-stairs', 'pennant', 'rope-bridge', 'two-weights'])
    assert.equal(later.body.problems.length, 1)
  })

  test('judge 5.9: problems are listed by id, in pages', async (t) => {
    const { url } = await startServer(t, { role: 'serve' })
    for (const id of ['c', 'a', 'b']) await putProblem(url, id)
    const headers = await account(url, 'ann')

    const first = await ask(`${url}/problems?limit=2`, { headers })
    const second = await ask(`${url}/problems?limit=2&after=${first.body.next_after}`, { headers })

    const idsOf = (answer: typeof first) => answer.body.problems.map((one: { problem_id: string }) => one.problem_id)
    assert.deepEqual([idsOf(first), idsOf(second)], [['a', 'b'], ['c']])
    assert.deepEqual([first.body.next_after, second.body.next_after], ['b', null])
    const [{ title, type, interactive, time_limit_ms: time, memory_mb: memory, tests }] = first.body.problems
    assert.deepEqual([title, type, interactive, time, memory, tests], ['Twice', 'pass-fail', false, 1000, 256, 3])
  })

  test('judge 5.10: a problem shows limits, languages with versions, samples and statement, and nothing secret', async (t) => {
    const { url, ann } = await setup(t)
    const files = packageFiles({
      'problem_statement/problem.en.md': '# Twice\n',
      'problem_statement/problem.de.md': '# Zweimal\n',
      'data/secret/1.in': 'very secret\n',
    })
    await putProblem(url, 'twice', packageOf(files))
    await judge(url, ann, { code: TWICE.accepted }) // by then the worker has said what it has

    const { status, body } = await ask(`${url}/problems/twice`, { headers: ann })
    const missing = await ask(`${url}/problems/nowhere`, { headers: ann })

    assert.equal(status, 200)
    assert.deepEqual(body.samples, [{ name: 'sample/1', input: '21\n', output: '42\n' }])
    assert.deepEqual(body.statement, { language: 'en', format: 'markdown', text: '# Twice\n' })
    assert(body.languages.some((one: { id: string }) => one.id === 'c'))
    assert(!JSON.stringify(body).includes('very secret'))
    assert.deepEqual([missing.status, missing.body.code], [404, 'problem_not_found'])
    assert.equal((await ask(`${url}/problems`)).status, 401)
  })

  test('judge 5.15: pictures beside the statement are served with a fixed type, and nothing else of the package is', async (t) => {
    const { url } = await startServer(t, { role: 'serve' })
    const ann = await account(url, 'ann')
    const svg = '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    const large = Buffer.alloc(2 * 1024 * 1024 + 1).toString('latin1')
    const files = packageFiles({
      'problem_statement/problem.en.md': '![a](a.png)\n',
      'problem_statement/a.PNG': 'not really a picture',
      'problem_statement/figure.svg': svg,
      'problem_statement/page.html': '<script>alert(1)</script>',
      'problem_statement/large.png': large,
    })
    await putProblem(url, 'twice', packageOf(files))
    const at = (file: string, headers: Credentials = ann) =>
      fetch(`${url}/problems/twice/statement/${file}`, { headers })

    const { body } = await ask(`${url}/problems/twice`, { headers: ann })
    const png = await at('a.PNG')
    const figure = await at('figure.svg')

    assert.deepEqual(body.pictures, ['a.PNG', 'figure.svg'])
    assert.deepEqual([png.status, png.headers.get('content-type')], [200, 'image/png'])
    assert.equal(await png.text(), 'not really a picture')
    assert.deepEqual([figure.headers.get('content-type'), await figure.text()], ['image/svg+xml', svg])
    for (const { headers } of [png, figure]) {
      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.match(headers.get('content-security-policy') ?? '', /^default-src 'none';.*; sandbox$/)
    }
    for (const file of ['page.html', 'large.png', 'problem.en.md', 'none.png', '..%2Fproblem.yaml', '..%2F..%2Fdata'])
      assert.equal((await at(file)).status, 404, file)
    assert.equal((await at('a.PNG', {})).status, 401)
    assert.equal(
      (await ask(`${url}/problems/nowhere/statement/a.PNG`, { headers: ann })).body.code,
      'problem_not_found',
    )
    const reeve = new ReeveClient({ url, token: ann['authorization']?.slice('Bearer '.length) ?? '' })
    assert.equal(await (await reeve.judge.picture('twice', 'a.PNG')).text(), 'not really a picture')
  })
})

/** It does not become smaller in a zip. */
function randomText(length: number): string {
  let seed = 42
  const next = () => String.fromCharCode(33 + ((seed = (seed * 48_271) % 2_147_483_647) % 90))
  return Array.from({ length }, next).join('')
}

/** Announces the whole package, sends half of it and hangs up. */
async function cutOff(url: string, id: string, headers: Record<string, string>, zip: Buffer): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  const head = Object.entries({ host: hostname, ...headers, 'content-type': 'application/zip' })
    .map(([name, value]) => `${name}: ${value}\r\n`)
    .join('')
  socket.write(`PUT /problems/${id} HTTP/1.1\r\n${head}content-length: ${zip.length}\r\n\r\n`)
  await new Promise((resolve) => socket.write(zip.subarray(0, zip.length / 2), resolve))
  socket.resetAndDestroy()
}
