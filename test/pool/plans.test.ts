// What admins see of a pool job is found by index: it is looked at once a second while its page is open.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newJobId } from '../../src/core/random.ts'
import { migrationFolders } from '../../src/doors/outline.ts'
import { quorumContexts, taskContexts } from '../../src/doors/pool/tasks/context.ts'
import { setupLedger } from '../support/ledger.ts'
import { recording, scansOf, type Statement } from '../support/plans.ts'
import { rows } from '../support/size.ts'

const FILL = `
  insert into pool_quorums (job_id, class_id, quorum, replicas, replicas_max, deadline_at, payload_bytes)
  select gen_random_uuid(), 1, 2, 3, 5, clock_timestamp(), 2 from generate_series(1, ${rows(10_000)});
  insert into pool_parts (job_id, quorum_id, owner_id, is_trusted)
  select gen_random_uuid(), job_id, 1, true from pool_quorums;
  insert into pool_tasks (job_id, class_id, priority, accepted_at, quorum_id, quorum, requires_hash)
  select gen_random_uuid(), 1, 5, clock_timestamp(), job_id, 2, false from pool_quorums;
  insert into pool_assignments (assignment_id, worker_id, job_id, quorum_id, attempt_id, nonce, cost_hint, lease_ms)
  select row_number() over (), 1, job_id, quorum_id, 1, '', 1, 1 from pool_parts;
  insert into pool_results (assignment_id, job_id, quorum_id, worker_id, status, signature, public_key, finished_at, is_final)
  select assignment_id, job_id, quorum_id, 1, 'completed', '', '', clock_timestamp(), true from pool_assignments;
  insert into pool_receipts (number, assignment_id, body, hash, signature)
  select assignment_id, assignment_id, '{}', assignment_id::text, '' from pool_results`
const TABLES = ['pool_quorums', 'pool_parts', 'pool_tasks', 'pool_assignments', 'pool_results', 'pool_receipts']
const ROWS_USUAL = 20

test('pool: what belongs to a job is found by index, with a plan made on empty tables and on full ones', async (t) => {
  const { database } = await setupLedger(t, migrationFolders().slice(1))
  const seen = new Map<string, Statement>()
  const { hot } = recording(database, seen)
  const job = { jobId: newJobId(), kind: 'pool', state: 'processing', payload: {} } as const
  await taskContexts(hot)([job])
  await quorumContexts(hot)([job])

  const found = await scansOf(database, [...seen.values()], { fill: FILL, tables: TABLES })
  assert.equal(seen.size, 2)
  assert.deepEqual(
    found.filter((scan) => scan.rows > ROWS_USUAL),
    [],
  )
})
