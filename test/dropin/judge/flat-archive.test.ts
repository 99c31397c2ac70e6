// Test data as the original system takes it: a zip of N.in and N.out files, without a problem.yaml.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { account, ask, judge, login, putProblem, startServer } from '../../contract/judge/setup.ts'
import { cannotTest } from '../../judge/rig.ts'
import { zipOf } from '../../support/zip.ts'

const SUM = '#include <stdio.h>\nint main(void) { int a, b; scanf("%d %d", &a, &b); printf("%d\\n", a + b); }\n'
const FLAT = Array.from({ length: 12 }, (_, n) => [
  { name: `${n + 1}.in`, content: `${n} ${n}\n` },
  { name: `${n + 1}.${n % 2 === 0 ? 'out' : 'ans'}`, content: `${2 * n}\n` },
]).flat()

async function put(url: string, id: string, zip: Uint8Array<ArrayBuffer>, query = '') {
  const headers = { ...(await login(url)), 'content-type': 'application/zip' }
  return ask(`${url}/problems/${id}${query}`, { method: 'PUT', bytes: zip, headers })
}

describe('judge, drop-in: a flat archive of tests', { skip: cannotTest }, () => {
  test('judge 5.11: a flat archive imports as a problem with the given limits, and is judged in the order of its numbers', async (t) => {
    const { url } = await startServer(t)
    const ann = await account(url, 'ann')

    const imported = await put(url, 'sum', zipOf(FLAT), '?time_limit=2.5&memory_limit=64')
    const { body: problem } = await ask(`${url}/problems/sum`, { headers: ann })
    const result = await judge(url, ann, { problem_id: 'sum', code: SUM })

    assert.deepEqual([imported.status, imported.body], [201, { problem_id: 'sum', title: 'sum', tests: 12 }])
    assert.deepEqual([problem.time_limit_ms, problem.memory_mb], [2500, 64])
    assert.equal(result.verdict, 'AC')
    assert.deepEqual(
      result.tests.map(({ name }: { name: string }) => name),
      Array.from({ length: 12 }, (_, n) => `secret/${String(n + 1).padStart(2, '0')}`),
    )
  })

  test('judge 5.11: it may be in the only folder of the zip; a test without an answer is refused', async (t) => {
    const { url } = await startServer(t, { role: 'serve' })
    const inFolder = FLAT.map(({ name, content }) => ({ name: `tests/${name}`, content }))

    const imported = await put(url, 'sum', zipOf(inFolder))
    const refused = await put(url, 'half', zipOf([...FLAT, { name: '13.in', content: '' }]))
    const outOfRange = await put(url, 'slow', zipOf(FLAT), '?time_limit=0')

    assert.equal(imported.status, 201)
    assert.deepEqual([refused.status, refused.body.code], [400, 'invalid_package'])
    assert.match(refused.body.error, /13\.in has no 13\.out/)
    assert.deepEqual([outOfRange.status, outOfRange.body.code], [400, 'validation_failed'])
  })

  test('judge 5.11: limits are refused for a package, which has its own', async (t) => {
    const { url } = await startServer(t, { role: 'serve' })

    assert.equal((await putProblem(url, 'twice')).status, 201)
    const refused = await put(url, 'twice', zipOf([{ name: 'problem.yaml' }, ...inSecret()]), '?time_limit=2')

    assert.match(refused.body.error, /Limits can only be given/)
  })
})

const inSecret = () =>
  FLAT.map(({ name, content }) => ({ name: `data/secret/${name.replace('.out', '.ans')}`, content }))
