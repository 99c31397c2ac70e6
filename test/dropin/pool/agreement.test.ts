// Replicas on different machines differ in the last digits: the job's `agree` rule says how much.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { until } from '../../support/until.ts'
import { setup, sha256, type Pool } from '../../contract/pool/setup.ts'

/** Submits one output after the other, each by a worker of another owner, until the job has ended. */
async function decidedBy(t: TestContext, agree: object, outputs: readonly string[], quorum = 2) {
  const pool = await setup(t, { env: { POOL_EXTRA_REPLICAS: '0' } })
  const jobId = await pool.submitJob({ replicas: outputs.length, quorum, agree })
  for (const [index, output] of outputs.entries()) {
    const worker = await pool.worker(`w${index}`, {}, await pool.account(`owner${index}`, 'WORKER_OWNER'))
    const polled = await pool.poll(worker)
    if (polled.status === 404) break
    const hash = sha256(output)
    const answer = await pool.submit(worker, polled.body, { output: JSON.parse(output), output_hash: hash })
    assert.equal(answer.status, 200, answer.text)
  }
  return { pool, job: await pool.job(jobId, 20) }
}

const verdicts = (job: { votes: { verdict: string }[] }) => job.votes.map(({ verdict }) => verdict)

const receiptsOf = async (pool: Pool, jobId: string) =>
  (await pool.ask('GET', `/v1/jobs/${jobId}/receipts`, undefined, pool.client)).body.receipts

describe('quorum by similarity', () => {
  test('pool 8.8: cosine: embeddings that differ in their last digits agree, and the earliest is the result', async (t) => {
    const { pool, job } = await decidedBy(t, { type: 'cosine', min: 0.985, field: 'embedding' }, [
      '{"embedding":[0.1,0.9]}',
      '{"embedding":[0.9,0.1]}',
      '{"embedding":[0.1000001,0.9]}',
    ])

    assert.equal(job.status, 'completed')
    assert.deepEqual(job.result.output, { embedding: [0.1, 0.9] })
    assert.deepEqual(verdicts(job), ['agreed', 'disagreed', 'agreed'])
    await until('all have a receipt', async () => (await receiptsOf(pool, job.job_id)).length === 3)
    const [first] = await receiptsOf(pool, job.job_id)
    assert.deepEqual(first.receipt.agree, { type: 'cosine', min: 0.985, field: 'embedding' })
  })

  test('pool 8.8: cosine: the field may be a JSON pointer; a missing vector agrees with nothing', async (t) => {
    const { job } = await decidedBy(t, { type: 'cosine', field: '/data/0/vector' }, [
      '{"data":[{"vector":[1,2]}]}',
      '{"data":[]}',
      '{"data":[{"vector":[2,4]}]}',
    ])

    assert.equal(job.status, 'completed')
    assert.deepEqual(verdicts(job), ['agreed', 'disagreed', 'agreed'])
  })

  test('pool 8.8: numeric: every number within the absolute tolerance, everything else equal; agreement is pairwise', async (t) => {
    const { job } = await decidedBy(
      t,
      { type: 'numeric', tolerance: 0.1 },
      ['{"s":"a","x":1.01}', '{"s":"a","x":1.1}', '{"s":"a","x":1.19}', '{"s":"b","x":1.02}'],
      3,
    )

    assert.equal(job.status, 'failed', '1.01 and 1.19 are too far from each other')
    assert.match(job.error_message, /at most 2 agree/)
  })

  test('pool 8.8: an invalid rule is 422', async (t) => {
    const pool = await setup(t)
    const rules = [
      { type: 'cosine', min: 2 },
      { type: 'numeric' },
      { type: 'other' },
      { type: 'exact', more: 1 },
      'exact',
    ]

    for (const agree of rules) {
      const answer = await pool.ask('POST', '/v1/jobs', { payload: {}, replicas: 2, agree }, pool.client)
      assert.equal(answer.status, 422, JSON.stringify(agree))
    }
  })
})
