// Each dead job is one line in the log, with its ids and its reason, and is counted.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { newAccount, startReeve } from '../support/reeve.ts'
import { until } from '../support/until.ts'
import { scrape, valueOf } from './scrape.ts'

const TRACE = '0af7651916cd43dd8448eb211c80319c'

describe('a job that dies', () => {
  test('is one line with its ids and reason, and is counted by its kind', async (t) => {
    const lines: string[] = []
    const { url, database } = await startReeve(t, { doors: 'pool', lines })
    const { token } = await newAccount(url, 'ann', ['CLIENT'])
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const before = await scrape(url, '/metrics/prometheus')
    assert.equal(valueOf(before, 'reeve_jobs_dead_total', { kind: 'pool', outcome: 'cancelled' }), '0')

    const submitted = await fetch(`${url}/v1/jobs`, {
      method: 'POST',
      headers: { ...headers, traceparent: `00-${TRACE}-b7ad6b7169203331-01` },
      body: JSON.stringify({ payload: {} }),
    })
    const { job_id: jobId } = JSON.parse(await submitted.text())
    await fetch(`${url}/v1/jobs/${jobId}/cancel`, { method: 'POST', headers, body: '{}' })

    const found = () => lines.map((line) => JSON.parse(line)).filter((line) => line.msg === 'job is dead')
    await until('it is logged', () => found().length > 0)
    const [line, ...more] = found()
    assert.equal(more.length, 0)
    assert.deepEqual(
      [line.job_id, line.attempt_id, line.trace_id, line.kind, line.ending],
      [jobId, 0, TRACE, 'pool', 'cancelled'],
    )
    const [row] = await database.query<{ reason: string }>('select reason from jobs where job_id = $1', [jobId])
    assert.equal(line.reason, row?.reason)
    const text = await scrape(url, '/metrics/prometheus')
    assert.equal(valueOf(text, 'reeve_jobs_dead_total', { kind: 'pool', outcome: 'cancelled' }), '1')
  })
})
