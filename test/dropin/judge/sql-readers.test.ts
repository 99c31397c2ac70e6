// As a program that reads the original system's table of submissions: SQL only.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cannotTest } from '../../judge/rig.ts'
import { judge, openClient, setup, submit, TWICE } from '../../contract/judge/setup.ts'

const COLUMNS = [
  'job_id',
  'status',
  'state',
  'attempt_id',
  'lease_owner',
  'lease_until',
  'result',
  'created_at',
  'updated_at',
]

describe('judge, drop-in: the view submissions', { skip: cannotTest }, () => {
  test('judge 6.1, 6.2: the view shows a submission that waits, runs and is finished, in the words of the original', async (t) => {
    const { url, ann, at } = await setup(t, { role: 'serve' })
    const client = await openClient(t, at)
    const { body } = await submit(url, ann, { code: TWICE.accepted })
    const read = async () => (await client.query('select * from submissions where job_id = $1', [body.job_id])).rows[0]

    const waiting = await read()
    await client.query(
      `update jobs set state = 'processing', attempt_id = 1, lease_owner = 'somebody',
              lease_until = clock_timestamp() + interval '1 minute', started_at = clock_timestamp()`,
    )
    const running = await read()
    await client.query(
      `update jobs set state = 'done', lease_until = null, finished_at = clock_timestamp(),
              result = '{"verdict": "WA", "time_ms": 1, "mem_kb": 1, "tests": []}'`,
    )
    const finished = await read()

    assert.deepEqual(Object.keys(waiting), COLUMNS)
    assert.deepEqual(
      [waiting.status, waiting.state, waiting.attempt_id, waiting.result],
      ['pending', 'pending', 0, null],
    )
    assert.deepEqual([running.status, running.state, running.lease_owner], ['running', 'processing', 'somebody'])
    assert.deepEqual([finished.status, finished.state, finished.attempt_id], ['Wrong Answer', 'done', 1])
    assert.deepEqual([finished.lease_owner, finished.lease_until], [null, null])
    assert.equal(finished.result.verdict, 'WA')
    assert(finished.updated_at > waiting.updated_at)
  })

  test('judge 6.2: the view shows the verdict of a submission that was judged', async (t) => {
    const { url, ann, at } = await setup(t)
    const client = await openClient(t, at)

    await judge(url, ann, { code: TWICE.accepted })
    const { rows } = await client.query('select status, state, lease_owner, result from submissions')

    assert.equal(rows.length, 1)
    assert.deepEqual([rows[0].status, rows[0].state, rows[0].lease_owner], ['Accepted', 'done', null])
    assert.equal(rows[0].result.verdict, 'AC')
  })
})
