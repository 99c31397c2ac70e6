// Signatures that must not count. What is signed and how is written from the contract; the vectors were made by others.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { GROUP_ORDER, numberOf, smallOrderPoints, toBytes } from '../../pool/curve.ts'
import {
  keyFrom,
  newKey,
  OUTPUT,
  OUTPUT_HASH,
  setup,
  signed,
  startServer,
  type Assigned,
  type Worker,
} from './setup.ts'

const WRONG = [400, 'Signature verification failed'] as const

/** A worker that holds something, and a way to submit it with any signature. */
async function holding(t: Parameters<typeof setup>[0]) {
  const pool = await setup(t)
  const worker = await pool.worker('w')
  const jobId = await pool.submitJob()
  const assigned: Assigned = (await pool.poll(worker)).body
  const submit = async (signature: string, more: object = {}) => {
    const { assignment_id, nonce } = assigned
    const fields = { worker_id: worker.id, assignment_id, nonce, output: OUTPUT, output_hash: OUTPUT_HASH, signature }
    const answer = await pool.ask('POST', '/jobs/submit', { ...fields, ...more }, worker.by)
    return [answer.status, answer.body.detail]
  }
  const setKey = async (publicKey: string) => {
    assert.equal((await pool.ask('PUT', `/workers/${worker.id}/key`, { public_key: publicKey }, worker.by)).status, 200)
  }
  const right = signed(worker.privateKey, assigned.assignment_id, assigned.nonce, OUTPUT_HASH)
  const stillOpen = async () => assert.equal((await pool.job(jobId)).status, 'running')
  return { pool, worker, assigned, submit, setKey, right, stillOpen }
}

describe('the signature of a result', () => {
  test('pool 5.2: the signed object under a fixed key has the fixed signature', () => {
    const key = keyFrom('A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg', 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8')

    assert.equal(
      signed(key, 15, 'nonce-submit-1', 'hash-1'),
      'MVe4e4o_GSpMUZeqW-zaY6wE-QJC1ZrVvhSz7R59KvcLyhHShxap6EMLGkIHHX6yQxp1BcvIJ1D0l3GKS8SYDw',
    )
  })

  test('pool 5.3: a signature of another key, assignment, nonce or hash, or with a flipped bit, is refused', async (t) => {
    const { worker, assigned, submit, right, stillOpen } = await holding(t)
    const { assignment_id: id, nonce } = assigned
    const others = [
      signed(newKey().privateKey, id, nonce, OUTPUT_HASH),
      signed(worker.privateKey, id + 1, nonce, OUTPUT_HASH),
      signed(worker.privateKey, id, `${nonce}x`, OUTPUT_HASH),
      signed(worker.privateKey, id, nonce, 'hash-1'),
      signed(worker.privateKey, id, nonce, null),
    ]
    const bytes = Buffer.from(right, 'base64url')
    const flipped = [0, 7, 255, 256, 300, 511].map((bit) => {
      const copy = Buffer.from(bytes)
      copy.writeUInt8(copy.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      return copy.toString('base64url')
    })

    for (const signature of [...others, ...flipped]) assert.deepEqual(await submit(signature), WRONG)
    assert.deepEqual(await submit(right, { output_hash: null }), WRONG)
    await stillOpen()
    assert.equal((await submit(right))[0], 200)
  })

  test('pool 5.3: the signature of another worker’s assignment is refused', async (t) => {
    const { pool, worker, assigned } = await holding(t)
    const other = await pool.worker('other')
    await pool.submitJob()
    const theirs: Assigned = (await pool.poll(other)).body
    const submit = (from: Worker, by: Worker, what: Assigned) =>
      pool.ask(
        'POST',
        '/jobs/submit',
        {
          worker_id: from.id,
          assignment_id: what.assignment_id,
          nonce: what.nonce,
          signature: signed(by.privateKey, what.assignment_id, what.nonce, null),
          artifact_uri: 's3://results/1',
        },
        from.by,
      )

    assert.equal((await submit(worker, other, theirs)).body.detail, 'Signature verification failed')
    assert.equal((await submit(worker, worker, theirs)).body.detail, 'Assignment not found')
    assert.equal((await submit(other, worker, theirs)).body.detail, 'Signature verification failed')
    assert.equal((await submit(worker, worker, assigned)).status, 200)
  })

  test('pool 5.4: a signature is base64url with none, one or two =; other letters and lengths have their own messages', async (t) => {
    const { submit, right, stillOpen } = await holding(t)
    const standard = `+/${right.slice(2)}`
    const [ENCODING, LENGTH] = [
      [400, 'Invalid signature encoding'],
      [400, 'Invalid signature length'],
    ]

    for (const text of [
      standard,
      `${right}===`,
      `${right} `,
      `é${right}`,
      right.slice(0, -1),
      `${right.slice(0, -1)}B`,
    ]) {
      assert.deepEqual(await submit(text), ENCODING, text)
    }
    for (const text of ['', 'AAAA', `${right.slice(0, -2)}`.slice(0, 84), `${right.slice(0, 84)}${'A'.repeat(4)}`]) {
      assert.deepEqual(await submit(text), LENGTH, text)
    }
    await stillOpen()
    assert.equal((await submit(`${right}==`))[0], 200)
  })

  test('pool 5.5: a signature whose second half is not below the group’s order is refused', async (t) => {
    const { submit, right, stillOpen } = await holding(t)
    const bytes = Buffer.from(right, 'base64url')
    const larger = toBytes(numberOf(bytes.subarray(32)) + GROUP_ORDER)

    assert.deepEqual(await submit(Buffer.concat([bytes.subarray(0, 32), larger]).toString('base64url')), WRONG)
    await stillOpen()
    assert.equal((await submit(right))[0], 200)
  })

  test('pool 5.5: a key of small order verifies nothing, not even what would verify for any message', async (t) => {
    const { submit, setKey, stillOpen } = await holding(t)
    const forged = Buffer.concat([toBytes(1n), toBytes(0n)]).toString('base64url')

    for (const { y } of smallOrderPoints()) {
      for (const key of [toBytes(y), toBytes(y | (1n << 255n))]) {
        await setKey(key.toString('base64url'))
        assert.deepEqual(await submit(forged), WRONG)
      }
    }
    await stillOpen()
  })

  test('pool 5.4: a key with other letters or of another length has messages of its own', async (t) => {
    const { worker, submit, setKey, right, stillOpen } = await holding(t)

    for (const key of ['', 'AAAA', worker.publicKey.slice(0, -3), `${worker.publicKey}`.repeat(4)]) {
      await setKey(key)
      assert.deepEqual(await submit(right), [400, 'Invalid public key length'], key)
    }
    for (const key of [`${worker.publicKey}===`, `+${worker.publicKey.slice(1)}`, 'ключ', `${worker.publicKey}\n`]) {
      await setKey(key)
      assert.deepEqual(await submit(right), [400, 'Invalid public key encoding'], key)
    }
    await stillOpen()
    await setKey(`${worker.publicKey}=`)
    assert.equal((await submit(right))[0], 200)
  })

  test('pool 5.6: a result is not accepted a second time, also after a restart', async (t) => {
    const { pool, worker, assigned, submit, right } = await holding(t)
    const { assignment_id, nonce } = assigned
    assert.equal((await submit(right))[0], 200)

    await pool.stop()
    const { url } = await startServer(t, { on: pool.at })
    const fields = { worker_id: worker.id, assignment_id, nonce, output_hash: OUTPUT_HASH, signature: right }
    const again = await fetch(`${url}/jobs/submit`, {
      method: 'POST',
      headers: { ...worker.by, 'content-type': 'application/json' },
      body: JSON.stringify({ ...fields, output: OUTPUT }),
    })

    assert.deepEqual([again.status, await again.json()], [409, { detail: 'Assignment already submitted' }])
  })
})
