// The hot statements of the door find their rows by index, whenever they were planned.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newJobId } from '../../src/core/random.ts'
import { openRecording } from '../../src/doors/challenge/challenger/record-callback.ts'
import { openFinding } from '../../src/doors/challenge/challenger/challenge-store.ts'
import { burnNonce, openNonceLookup } from '../../src/doors/challenge/signing/nonces.ts'
import { openSolveStore } from '../../src/doors/challenge/solver/accept.ts'
import { migrationFolders } from '../../src/doors/outline.ts'
import { deafBus, openTestLedger, setupLedger } from '../support/ledger.ts'
import { recording, scansOf, type Statement } from '../support/plans.ts'
import { rows } from '../support/size.ts'

const INSERT_CHALLENGE = `
  insert into challenges (challenge_id, account_id, problem, validation_rule, answer, body_hash, bytes)
  values ('c1', 1, '{}', '{}', '', '', 2)`
const FILL = `
  insert into challenge_nonces (side, nonce) select 'solver', 'n' || n from generate_series(1, ${rows(50_000)}) as n;
  insert into challenge_nonces (side, nonce) select 'challenger', 'n' || n from generate_series(1, ${rows(50_000)}) as n;
  insert into solve_requests (challenge_id, job_id, callback_url)
  select 'c' || n, gen_random_uuid(), 'https://a.example/' from generate_series(1, ${rows(50_000)}) as n;
  insert into challenges (challenge_id, account_id, problem, validation_rule, answer, body_hash, bytes)
  select 'c' || n, 1, '{}', '{}', '', '', 2 from generate_series(2, ${rows(50_000)}) as n;
  insert into challenge_results (challenge_id, request_id, status, rule, is_final, body_hash, bytes)
  select 'c' || n, 'r1', 'success', 'ExactMatch', true, '', 2 from generate_series(2, ${rows(50_000)}) as n`
const TABLES = ['challenge_nonces', 'solve_requests', 'challenges', 'challenge_results', 'jobs']
const SKEW_SEC = 300
const ROWS_USUAL = 20

test('challenge: every hot statement finds its rows by index, with a plan made on an empty table and on a full one', async (t) => {
  const { database } = await setupLedger(t, migrationFolders().slice(1))
  const seen = new Map<string, Statement>()
  const noted = recording(database, seen)
  const nonce = (name: string, ts = Math.floor(Date.now() / 1000)) => ({ nonce: name, ts, notAfterMs: null })

  for (const announceByOutbox of [false, true]) {
    const store = openSolveStore(
      { ledger: openTestLedger({ database: noted, bus: deafBus, announceByOutbox }) },
      SKEW_SEC,
    )
    const challenge_id = `c${announceByOutbox}`
    const payload = {
      challenge_id,
      problem: {},
      output_spec: null,
      constraints: {},
      callback_url: 'https://a.example/',
    }
    await store.accept({ nonce: nonce(`n${announceByOutbox}`), payload, bytes: 1, trace: { traceId: 't' } })
  }
  await openNonceLookup(noted, 'solver')('n1')
  await burnNonce(noted.hot, { side: 'solver', skewSec: SKEW_SEC }, nonce('n1', 1)) // stale: it is looked up
  await openFinding(noted)('c1')
  await database.query(INSERT_CHALLENGE)
  const record = openRecording(noted, SKEW_SEC)
  await record({ nonce: nonce('n2'), result: { ...RESULT, challengeId: 'c1', requestId: newJobId() }, bytes: 1 })
  await database.query(`truncate ${TABLES.join(', ')}, outbox_events cascade`)
  await database.query(INSERT_CHALLENGE)

  const found = await scansOf(database, [...seen.values()], { fill: FILL, tables: TABLES })

  assert.equal(seen.size, 7)
  for (const { when, sql, node, rows } of found) {
    assert(!node.startsWith('Seq Scan'), `${when}: ${node} in ${sql}`)
    assert(rows <= ROWS_USUAL, `${when}: ${node} touched ${rows} rows in ${sql}`)
  }
})

const RESULT = {
  solverJobId: null,
  status: 'success',
  answer: '1',
  errorCode: null,
  errorMessage: null,
  metadata: null,
  bodyHash: '',
  headers: {},
  isCorrect: true,
  rule: 'ExactMatch',
}
