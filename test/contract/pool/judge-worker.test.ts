// A worker that judges: the submission is a pool job, the verdict its signed output. A real process with a real sandbox.
import assert from 'node:assert/strict'
import { createHash, createPublicKey, verify } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, describe, test, type TestContext } from 'node:test'
import { problemWithReceipt, type Receipt } from '@reeve/sdk/pool'
import { cannotTest } from '../../judge/rig.ts'
import { until } from '../../support/until.ts'
import { packageFiles, packageOf } from '../../support/zip.ts'
import { TWICE } from '../judge/setup.ts'
import { setup, signedBytes, type Pool } from './setup.ts'
import { ownerOf, reeve, startWorker, stopped } from './worker-process.ts'

const folder = mkdtemp(join(tmpdir(), 'reeve-test-judge-worker-'))
after(async () => rm(await folder, { recursive: true, force: true }))

const TRIPLE = packageOf(packageFiles({ 'data/secret/1.ans': '3\n' }))
const TRIPLE_HASH = createHash('sha256').update(TRIPLE).digest('hex')

const JOB = { package: TRIPLE_HASH, language: 'c', code: TWICE.wrong }

/** What is no submission, or none that the worker can judge, and what the client is told. */
const NOT_JUDGED: readonly (readonly [judge: object, reason: RegExp])[] = [
  [{}, /^The job is not a submission: judge.package is not the SHA-256 of a package/],
  [{ ...JOB, package: `${TRIPLE_HASH}/../..` }, /judge.package is not/],
  [{ ...JOB, language: 1 }, /judge.language is not a string/],
  [{ ...JOB, code: null }, /judge.code is not a string/],
  [{ ...JOB, code: 'x'.repeat(65_537) }, /judge.code has more than 65536 bytes/],
  [{ ...JOB, detail: 'all' }, /judge.detail is neither full nor verdict/],
  [{ ...JOB, language: 'cobol' }, /^This worker cannot run cobol, only .*c/],
  [{ ...JOB, package: '0'.repeat(64) }, /^The package of this problem is gone/],
]

/** Two packages: one is a folder, one a zip. */
async function problems(): Promise<string> {
  const own = join(await folder, 'problems')
  for (const [name, content] of Object.entries(packageFiles())) {
    await mkdir(dirname(join(own, 'twice', name)), { recursive: true })
    await writeFile(join(own, 'twice', name), content)
  }
  await writeFile(join(own, 'triple.zip'), TRIPLE)
  await writeFile(join(own, 'README'), 'not a package')
  return own
}

async function setupJudge(t: TestContext) {
  const pool = await setup(t)
  const { env: owner, key } = await ownerOf(t, pool)
  const env = { ...owner, JUDGE_CACHE_DIR: join(await folder, 'cache') }
  const judge = ['--judge', '--problems', await problems(), '--key', key, '--url', pool.url]
  assert.equal((await reeve(['keygen', '--key', key])).status, 0)
  const made = await reeve(['register', '--name', 'judge', '--specs', '{"cores":2}', '--json', ...judge], env)
  assert.equal(made.status, 0, made.stderr)
  const worker = JSON.parse(made.stdout)
  return { pool, env, worker, run: ['--worker', String(worker.id), ...judge], publicKey: String(worker.public_key) }
}

/** The job as it is once it has ended. */
async function judged(pool: Pool, judge: object, more: object = {}) {
  const jobId = await pool.submitJob({ payload: { judge }, require_output_hash: true, ...more })
  return pool.job(jobId, 50)
}

describe('reeve worker run --judge', { skip: cannotTest }, () => {
  test('judges in its sandbox; the client sees the verdict that it signed, or why there is none', async (t) => {
    const { pool, env, worker, run, publicKey } = await setupJudge(t)
    assert.deepEqual([worker.specs_json.cores, worker.specs_json.judge.languages.includes('c')], [2, true])
    const [triple, twice] = worker.specs_json.judge.packages
    assert.equal(triple, TRIPLE_HASH)
    const { child, seen } = startWorker(t, run, env)
    const requirements = { specs: { judge: { languages: 'c', packages: twice } } }
    const c = (code: string, sha = twice) => ({ package: sha, language: 'c', code })

    const right = await judged(pool, c(TWICE.accepted), { requirements })
    assert.deepEqual([right.status, right.result.output.verdict], ['completed', 'AC'], right.error_message)
    const { tests, time_ms: timeMs, mem_kb: memKb } = right.result.output
    assert.deepEqual(
      tests.map(({ name, verdict }: { name: string; verdict: string }) => [name, verdict]),
      [
        ['sample/1', 'AC'],
        ['secret/1', 'AC'],
        ['secret/2', 'AC'],
      ],
    )
    assert.deepEqual(right.result.metrics_json, { time_ms: timeMs, mem_kb: memKb })
    assert(!JSON.stringify(right.result.output).includes('1000'), 'what is secret stays secret')
    await assertSigned(pool, right, publicKey)

    const wrong = await judged(pool, c(TWICE.accepted, triple))
    assert.deepEqual([wrong.status, wrong.result.output.verdict], ['completed', 'WA'])
    const broken = await judged(pool, c('int main(void) { return }'))
    assert.deepEqual([broken.status, broken.result.output.verdict, broken.result.output.tests], ['completed', 'CE', []])
    assert.match(broken.result.output.compile_output, /error/)
    const odd = await judged(pool, c('#include <stdio.h>\nint main(void) { putchar(0); puts("x"); }\n'))
    assert.deepEqual(
      [odd.status, odd.result.output.verdict, odd.result.output.tests[0].output],
      ['completed', 'WA', '\uFFFDx\n'],
    )
    const terse = await judged(pool, { ...c(TWICE.wrong), detail: 'verdict' })
    assert.deepEqual(terse.result.output, {
      verdict: 'WA',
      tests: [
        { name: 'sample/1', verdict: 'AC' },
        { name: 'secret/1', verdict: 'WA' },
      ],
    })

    for (const [judge, reason] of NOT_JUDGED) {
      const { status, error_message: said } = await judged(pool, judge)
      assert.equal(status, 'failed')
      assert.match(said, reason)
    }
    child.kill('SIGTERM')
    assert.equal(await stopped(child), 0)
    await seen('submitted', 5 + NOT_JUDGED.length)
  })

  test('a machine without a sandbox, or without packages, is told what it lacks before it polls', async () => {
    const key = join(await folder, 'some.key')
    assert.equal((await reeve(['keygen', '--key', key])).status, 0)
    const empty = await mkdtemp(join(await folder, 'empty-'))
    const run = async (env: Record<string, string>, ...args: string[]) => {
      const said = await reeve(['run', '--worker', '1', '--key', key, '--judge', ...args], {
        WORKER_API_KEY: 'x',
        JUDGE_CACHE_DIR: join(empty, 'cache'),
        ...env,
      })
      return [said.status, said.stderr] as const
    }

    assert.deepEqual(await run({}), [2, '--judge needs --problems: a folder of problem packages.\n'])
    assert.deepEqual(await run({}, '--problems', empty), [1, `There is no problem package in ${empty}.\n`])
    const [status, said] = await run({ PATH: empty }, '--problems', await problems())
    assert.equal(status, 1)
    assert.match(said, /^The judge's sandbox is a small C program, and it cannot be compiled/)
    assert.match(said, /It needs a C compiler: apt-get install gcc libc6-dev\n$/)
  })
})

/** By the worker, over the hash of this output; and the server's receipt says so. */
async function assertSigned(pool: Pool, job: Awaited<ReturnType<Pool['job']>>, publicKey: string): Promise<void> {
  const { output_hash: hash, output_hash_matches: matches } = job.result
  assert.equal(matches, true)
  const path = `/v1/jobs/${job.job_id}/receipts`
  let receipts: Receipt[] = []
  await until('it has a receipt', async () => {
    receipts = (await pool.ask('GET', path, undefined, pool.client)).body.receipts
    return receipts.length > 0
  })
  const [signed] = receipts
  assert(signed !== undefined)
  const { public_key: serverKey } = (await pool.ask('GET', '/v1/receipts/key')).body
  assert.equal(problemWithReceipt(signed, serverKey), null)
  const { assignment_id: id, output_hash: hashInReceipt } = signed.receipt
  const { nonce, signature, public_key: by } = signed.receipt.signed
  assert.deepEqual([hashInReceipt, by], [hash, publicKey])
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: publicKey }, format: 'jwk' })
  assert(verify(null, Buffer.from(signedBytes(id, nonce, hash)), key, Buffer.from(signature, 'base64url')))
}
