// Every accepted result gets one receipt. The result commits with an outbox row; the transaction that takes that row appends the
// receipt. One appender at a time numbers them, so that each carries the hash of the one before it; no result waits for that. An
// assignment has one receipt, whatever is repeated.
import { canonicalJson } from '@reeve/sdk'
import { FIRST_PREVIOUS, sha256Hex, signText, type PrivateKey, type ReceiptBody } from '@reeve/sdk/pool'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Database, Tx } from '../../../core/db/database.ts'
import type { Transfer } from '../../../core/outbox/delivery.ts'
import { takeRows } from '../../../core/outbox/take-rows.ts'
import { timestampText } from '../wire.ts'

export const RECEIPT_TOPIC = 'pool_receipt'

// An advisory lock that nothing else uses.
const CHAIN_LOCK = 7_305_811
const LOCK = `select pg_advisory_xact_lock(${CHAIN_LOCK})`
const LAST = `select number, hash from pool_receipts order by number desc limit 1`

const DUE = `
  select r.assignment_id, coalesce(r.quorum_id, r.job_id) as job_id, a.attempt_id, r.worker_id, r.status,
         r.computed_hash, r.output_hash, a.nonce, r.signature, r.public_key, ${timestampText('r.finished_at')} as finished_at, q.agree
    from pool_results r join pool_assignments a on a.assignment_id = r.assignment_id
    left join pool_quorums q on q.job_id = r.quorum_id
   where r.assignment_id = any($1::bigint[])
     and not exists (select from pool_receipts p where p.assignment_id = r.assignment_id)
   order by r.assignment_id`

const INSERT = `
  insert into pool_receipts (number, assignment_id, body, hash, signature)
  select number, assignment_id, body, hash, signature
    from json_to_recordset($1) as r (number bigint, assignment_id bigint, body text, hash text, signature text)`

const ROWS_MAX = 100 // a signature takes about a tenth of a millisecond, and others wait for the lock
const GATHER_MS = 50 // a batch costs about the same for one receipt as for a hundred

interface DueReceiptRow {
  assignment_id: string
  job_id: string
  attempt_id: number
  worker_id: string
  status: string
  computed_hash: string | null
  output_hash: string | null
  nonce: string
  signature: string
  public_key: string
  finished_at: string
  agree: Record<string, unknown> | null
}

export const receiptTransfer = ({ database, key }: { database: Database; key: PrivateKey }): Transfer => ({
  topic: RECEIPT_TOPIC,
  gatherMs: GATHER_MS,
  transfer: () =>
    database.hot.transaction(async (tx) => {
      const due = await takeRows(tx, RECEIPT_TOPIC, ROWS_MAX)
      if (due.length > 0) await append(tx, key, due.map(assignmentOf))
      return { rows: due.length, more: due.length === ROWS_MAX }
    }),
})

async function append(tx: Tx, key: PrivateKey, assignmentIds: readonly number[]): Promise<void> {
  // Sent at once. Each reads what is there when the one before it is done: after the lock was taken.
  tx.send(LOCK)
  const [due, [last]] = await Promise.all([
    tx.query<DueReceiptRow>(DUE, [assignmentIds]),
    tx.query<{ number: string; hash: string }>(LAST),
  ])
  let [number, previous] = [Number(last?.number ?? 0), last?.hash ?? FIRST_PREVIOUS]
  const receipts = due.map((row) => {
    number += 1
    const body = canonicalJson(bodyOf(row, { number, previous, key_id: key.x }))
    previous = sha256Hex(body)
    return { number, assignment_id: row.assignment_id, body, hash: previous, signature: signText(key, body) }
  })
  tx.send(INSERT, [JSON.stringify(receipts)])
}

const bodyOf = (row: DueReceiptRow, place: Pick<ReceiptBody, 'number' | 'previous' | 'key_id'>): ReceiptBody => ({
  version: 1,
  ...place,
  job_id: row.job_id,
  assignment_id: Number(row.assignment_id),
  attempt: row.attempt_id,
  worker_id: Number(row.worker_id),
  status: row.status === 'failed' ? 'failed' : 'completed',
  output_hash: row.computed_hash ?? row.output_hash,
  finished_at: row.finished_at,
  ...(row.agree === null ? {} : { agree: row.agree }),
  signed: { nonce: row.nonce, output_hash: row.output_hash, public_key: row.public_key, signature: row.signature },
})

const DuePayload = Compile(Type.Object({ assignment_id: Type.Integer() }))

const assignmentOf = (payload: unknown): number => DuePayload.Parse(payload).assignment_id
