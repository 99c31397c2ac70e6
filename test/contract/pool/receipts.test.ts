// A receipt for every accepted result, checked without the server; and callbacks, checked with a stock library.
import assert from 'node:assert/strict'
import { createHash, createPublicKey, verify } from 'node:crypto'
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { Webhook } from 'standardwebhooks'
import { temporaryFolder } from '../../support/servers.ts'
import { until } from '../../support/until.ts'
import { startReceiver } from '../challenge/setup.ts'
import { connect, OUTPUT_HASH, setup, signedBytes, type Pool } from './setup.ts'
import { REEVE } from '../../support/program.ts'

interface Receipt {
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads what it expects
  receipt: any
  hash: string
  signature: string
}

const receiptsOf = async (pool: Pool): Promise<Receipt[]> =>
  (await pool.ask('GET', '/admin/pool/receipts?limit=1000', undefined, pool.admin)).body.receipts

async function withReceipts(t: TestContext, count: number) {
  const pool = await setup(t)
  const worker = await pool.worker('w')
  const jobIds: string[] = []
  for (let n = 0; n < count; n += 1) {
    jobIds.push(await pool.submitJob())
    assert.equal((await pool.submit(worker, (await pool.poll(worker)).body)).status, 200)
  }
  await until('all have a receipt', async () => (await receiptsOf(pool)).length === count)
  const { public_key: key } = (await pool.ask('GET', '/v1/receipts/key')).body
  return { pool, worker, jobIds, key: String(key), receipts: await receiptsOf(pool) }
}

/** Python's canonical form of a receipt: its keys sorted, at both levels; nothing in it needs an escape or is a float. */
const canonical = (value: unknown): string => {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const sorted = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${sorted.map(([key, member]) => `"${key}":${canonical(member)}`).join(',')}}`
}

const isSigned = (x: string, signature: string, text: string) =>
  verify(
    null,
    Buffer.from(text),
    createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' }),
    Buffer.from(signature, 'base64url'),
  )

const reeve = (args: string[], input: string) =>
  spawnSync(process.execPath, [...REEVE, 'verify', 'receipt', '-', ...args], {
    input,
    encoding: 'utf8',
  })

describe('receipts', () => {
  test('pool 10.1: a receipt names job, attempt, worker, hash and time, is signed, and carries the hash of the one before', async (t) => {
    const { pool, worker, jobIds, key, receipts } = await withReceipts(t, 3)
    const [first] = jobIds

    let previous = '0'.repeat(64)
    for (const [index, { receipt, hash, signature }] of receipts.entries()) {
      const body = canonical(receipt)
      assert.deepEqual([receipt.number, receipt.previous, receipt.job_id], [index + 1, previous, jobIds[index]])
      assert.deepEqual(
        [receipt.attempt, receipt.worker_id, receipt.status, receipt.output_hash],
        [1, worker.id, 'completed', OUTPUT_HASH],
      )
      assert.equal(createHash('sha256').update(body).digest('hex'), hash)
      assert(isSigned(key, signature, body))
      const { nonce, output_hash: signedHash, public_key: publicKey, signature: theirs } = receipt.signed
      assert.equal(publicKey, worker.publicKey)
      assert(isSigned(publicKey, theirs, signedBytes(receipt.assignment_id, nonce, signedHash)))
      previous = hash
    }
    const mine = (await pool.ask('GET', `/v1/jobs/${first}/receipts`, undefined, pool.client)).body.receipts
    assert.deepEqual(mine, receipts.slice(0, 1))
    const theirs = (await pool.ask('GET', `/workers/${worker.id}/receipts?after=1`, undefined, worker.by)).body.receipts
    assert.deepEqual(theirs, receipts.slice(1))
    const other = await pool.account('other', 'WORKER_OWNER')
    assert.equal((await pool.ask('GET', `/workers/${worker.id}/receipts`, undefined, other)).status, 404)
  })

  test('pool 10.4: `reeve verify receipt` verifies receipts without the server', async (t) => {
    const { key, receipts } = await withReceipts(t, 3)
    const [first] = receipts
    assert(first !== undefined)
    const forged = { ...first, receipt: { ...first.receipt, worker_id: 99 } }

    const good = reeve(['--key', key], JSON.stringify({ receipts }))
    const byLine = reeve([], receipts.map((one) => `${JSON.stringify(one)}\n`).join(''))
    const bad = reeve(['--key', key], JSON.stringify(forged))

    assert.deepEqual([good.status, good.stdout, good.stderr], [0, '3 receipts verify.\n', ''])
    assert.deepEqual([byLine.status, byLine.stdout], [0, '3 receipts verify.\n'])
    assert.match(byLine.stderr, /compare it with the server's/)
    assert.deepEqual([bad.status, bad.stderr], [1, 'Receipt 1 has been changed: its hash is another one.\n'])
  })

  test('pool 10.2: the head of the chain is public and signed', async (t) => {
    const { pool, key, receipts } = await withReceipts(t, 2)

    const { body: head } = await pool.ask('GET', '/v1/receipts/head')

    assert.deepEqual([head.size, head.hash, head.key_id], [2, receipts[1]?.hash, key])
    assert(isSigned(key, head.signature, `{"hash":"${head.hash}","size":2}`))
  })

  test('pool 10.5: --chain fails on a missing receipt, and on a head that the receipts do not lead to', async (t) => {
    const { pool, key, receipts } = await withReceipts(t, 3)
    const folder = await temporaryFolder(t)
    const headFile = join(folder, 'head.json')
    const { body: head } = await pool.ask('GET', '/v1/receipts/head')
    await writeFile(headFile, JSON.stringify(head))
    const verify = (some: Receipt[], ...more: string[]) =>
      reeve(['--key', key, '--chain', ...more], JSON.stringify(some))

    assert.equal(verify(receipts, '--head', headFile).status, 0)
    const gap = verify(receipts.filter((_, index) => index !== 1))
    assert.deepEqual([gap.status, /receipt 2 is missing/.test(gap.stderr)], [1, true])
    const short = verify(receipts.slice(0, 2), '--head', headFile)
    assert.deepEqual([short.status, /receipt 3 is missing/.test(short.stderr)], [1, true])
    await writeFile(headFile, JSON.stringify({ ...head, size: 2 }))
    assert.match(verify(receipts, '--head', headFile).stderr, /signature that does not verify/)
  })

  test('pool 10.3: the private key is in no answer', async (t) => {
    const { pool } = await withReceipts(t, 1)
    const database = await connect(t, pool.at)
    const { rows } = await database.query(`select secret from pool_server_keys`)
    const secrets = rows.map((row) => (row.secret.startsWith('{') ? JSON.parse(row.secret).d : row.secret))

    const paths = [
      '/v1/receipts/key',
      '/admin/pool/receipts',
      '/admin/pool/status',
      '/admin/status',
      '/metrics',
      '/docs/json',
    ]
    for (const path of paths) {
      const { text } = await pool.ask('GET', path, undefined, pool.admin)
      for (const secret of secrets) assert(!text.includes(secret), path)
    }
  })
})

describe('callbacks', () => {
  test('pool 9.1: a callback tells how the job ended, signed with a secret of the client’s own', async (t) => {
    const pool = await setup(t)
    const receiver = await startReceiver(t, [500])
    const worker = await pool.worker('w')
    const other = await pool.account('other client', 'CLIENT')
    const url = `${receiver.url}/ended`
    const secretOf = async (by = pool.client) => (await pool.ask('GET', '/v1/callbacks/secret', undefined, by)).body
    const { key_id: keyId, secret } = await secretOf()

    const done = await pool.submitJob({ callback_url: url })
    await pool.submit(worker, (await pool.poll(worker)).body)
    await until('it was told, after a failure', () => receiver.received.length === 2)
    const cancelled = await pool.submitJob({ callback_url: url })
    await pool.ask('POST', `/v1/jobs/${cancelled}/cancel`, undefined, pool.client)
    await until('it was told', () => receiver.received.length === 3)

    const [, told, end] = receiver.received
    assert(told !== undefined && end !== undefined)
    const job = await pool.job(done)
    assert.deepEqual(JSON.parse(told.body), {
      job_id: done,
      status: 'completed',
      output: { ok: true },
      output_hash: OUTPUT_HASH,
      error_message: null,
      artifact_uri: null,
      metrics_json: null,
      finished_at: job.result.finished_at,
    })
    assert.equal(told.headers['x-request-id'], done)
    assert.match(String(told.headers.authorization), new RegExp(`^RCS-HMAC-SHA256 keyId=${keyId},`))
    const headers = Object.fromEntries(Object.entries(told.headers).map(([name, value]) => [name, String(value)]))
    new Webhook(Buffer.from(secret).toString('base64')).verify(told.body, headers)
    assert.deepEqual(
      [JSON.parse(end.body).status, JSON.parse(end.body).error_message],
      ['cancelled', 'cancelled by the client'],
    )
    assert.notEqual((await secretOf(other)).secret, secret)
    assert.equal((await pool.ask('GET', '/v1/callbacks/secret', undefined, pool.owner)).status, 403)
  })

  test('pool 9.2: the callback of a replicated job comes once, when it is decided', async (t) => {
    const pool = await setup(t)
    const receiver = await startReceiver(t)
    const other = await pool.account('other owner', 'WORKER_OWNER')
    const workers = [await pool.worker('w1'), await pool.worker('w2', {}, other)]
    const jobId = await pool.submitJob({ callback_url: `${receiver.url}/x`, replicas: 2, quorum: 2 })

    for (const worker of workers) await pool.submit(worker, (await pool.poll(worker)).body)
    await until('it was told', () => receiver.received.length > 0)

    assert.deepEqual(JSON.parse(receiver.received[0]?.body ?? '').job_id, jobId)
    assert.equal((await pool.job(jobId)).status, 'completed')
    assert.equal(receiver.received.length, 1)
  })
})
