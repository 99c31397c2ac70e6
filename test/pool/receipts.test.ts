// What can be wrong with receipts, found without a server.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { canonicalJson, generateWebKey, verifyReceipt } from '@reeve/sdk'
import {
  FIRST_PREVIOUS,
  generateKey,
  problemWithChain,
  problemWithReceipt,
  sha256Hex,
  signSubmission,
  signText,
  type Receipt,
  type ReceiptBody,
} from '@reeve/sdk/pool'

const server = generateKey()
const worker = generateKey()

function receipt(number: number, previous: string, more: Partial<ReceiptBody> = {}): Receipt {
  const signed = { assignment_id: number, nonce: 'n', output_hash: 'h' }
  const body: ReceiptBody = {
    version: 1,
    number,
    previous,
    key_id: server.x,
    job_id: '0190a000-0000-7000-8000-000000000000',
    assignment_id: number,
    attempt: 1,
    worker_id: 1,
    status: 'completed',
    output_hash: 'h',
    finished_at: '2026-02-08T12:35:10.000000Z',
    signed: { nonce: 'n', output_hash: 'h', public_key: worker.x, signature: signSubmission(worker, signed) },
    ...more,
  }
  const text = canonicalJson(body)
  return { receipt: body, hash: sha256Hex(text), signature: signText(server, text) }
}

describe('a receipt', () => {
  const good = receipt(1, FIRST_PREVIOUS)

  test('that the server signed verifies with its key, and with no other', () => {
    assert.equal(problemWithReceipt(good, server.x), null)
    assert.match(problemWithReceipt(good, worker.x) ?? '', /signed with another key/)
  })

  test('that was changed fails on its hash, or with a new hash on its signature', () => {
    const changed = { ...good, receipt: { ...good.receipt, worker_id: 2 } }
    const rehashed = { ...changed, hash: sha256Hex(canonicalJson(changed.receipt)) }

    assert.match(problemWithReceipt(changed, server.x) ?? '', /has been changed/)
    assert.match(problemWithReceipt(rehashed, server.x) ?? '', /signature that does not verify/)
  })

  test('that names a worker’s signature over something else does not verify', () => {
    const other = receipt(1, FIRST_PREVIOUS, { assignment_id: 2 })

    assert.match(problemWithReceipt(other, server.x) ?? '', /worker's signature/)
  })
})

describe('in a browser', () => {
  const good = receipt(1, FIRST_PREVIOUS)
  const changed = { ...good, receipt: { ...good.receipt, worker_id: 2 } }
  const cases: readonly (readonly [string, Receipt, string])[] = [
    ['good', good, server.x],
    ['of another key', good, worker.x],
    ['changed', changed, server.x],
    ['with a new hash', { ...changed, hash: sha256Hex(canonicalJson(changed.receipt)) }, server.x],
    ['with a signature that is none', { ...good, signature: 'n/o' }, server.x],
    ['with a signature that is too short', { ...good, signature: good.signature.slice(2) }, server.x],
    ['over another assignment', receipt(1, FIRST_PREVIOUS, { assignment_id: 2 }), server.x],
    [
      'with a key of 31 bytes',
      receipt(1, FIRST_PREVIOUS, { signed: { ...good.receipt.signed, public_key: 'A'.repeat(42) } }),
      server.x,
    ],
  ]

  test('pool 10.6: the same problems are found', async () => {
    const found = await Promise.all(cases.map(([, one, key]) => verifyReceipt(one, key)))

    assert.deepEqual(
      cases.map(([name], index) => [name, found[index]]),
      cases.map(([name, one, key]) => [name, problemWithReceipt(one, key)]),
    )
    assert.equal(found.filter((problem) => problem === null).length, 1)
  })

  test('pool 10.6: a key that is made there signs what the server verifies', async () => {
    const key = await generateWebKey()
    assert(key !== null)
    const public_key = key.x
    const signature = signSubmission(key, { assignment_id: 1, nonce: 'n', output_hash: 'h' })
    const signed = { nonce: 'n', output_hash: 'h', public_key, signature }

    assert.equal(problemWithReceipt(receipt(1, FIRST_PREVIOUS, { signed }), server.x), null)
  })
})

describe('a chain of receipts', () => {
  const first = receipt(1, FIRST_PREVIOUS)
  const second = receipt(2, first.hash)
  const third = receipt(3, second.hash)

  test('verifies in any order of the file, and with gaps', () => {
    assert.equal(problemWithChain([third, first, second]), null)
    assert.equal(problemWithChain([first, third]), null)
    assert.equal(problemWithChain([second, third]), null)
  })

  test('is broken by an inserted receipt, a repeated number, or a wrong beginning', () => {
    assert.match(problemWithChain([first, receipt(2, third.hash)]) ?? '', /receipt 2 does not follow receipt 1/)
    assert.match(problemWithChain([first, second, receipt(2, first.hash)]) ?? '', /two receipts with the number 2/)
    assert.match(problemWithChain([receipt(1, third.hash)]) ?? '', /does not begin the chain/)
  })
})
