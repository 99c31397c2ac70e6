// judge "Observability": the metrics by their names and labels, and log lines that name job, attempt and trace.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { cannotTest } from '../../judge/rig.ts'
import { until } from '../../support/until.ts'
import { metric } from './feeds.ts'
import { judge, judged, setup, submit, TWICE } from './setup.ts'

/** As the contract lists them. */
const METRICS = [
  'judge_exec_duration_seconds{result}',
  'judge_exec_inflight',
  'judge_exec_total{result}',
  'judge_box_seconds_total',
  'judge_verdict_total{verdict}',
  'judge_protocol_errors_total{reason}',
  'judge_output_truncated_total{stream}',
  'worker_claim_total{status,reason}',
  'worker_lease_heartbeat_total{status,reason}',
  'worker_stale_attempt_total',
  'worker_finalize_total{status}',
  'worker_finalize_rejected_total{reason}',
  'worker_finalize_errors_total',
  'worker_finalize_latency_ms',
  'worker_reclaim_total{status,reason}',
  'worker_reclaim_latency_ms',
  'worker_reclaim_inflight',
  'api_outbox_dispatch_total{status,reason}',
  'api_outbox_dispatch_latency_seconds',
  'api_outbox_pending',
]

const UNIQUE = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-|\b(job|attempt|trace|request|account)_id="/

describe('judge Observability', { skip: cannotTest }, () => {
  test('judge 7.1: every metric exists under its name with its labels', async (t) => {
    const { url, ann } = await setup(t, { isShared: false })
    for (const code of [TWICE.accepted, TWICE.wrong, TWICE.spinning, 'int main(void) { return 1; }\n'])
      await judge(url, ann, { code })

    // The last verdict is counted after the commit that makes it visible.
    await until('all are counted', async () => (await metric(url, 'judge_verdict_total{verdict="RE"}')) > 0)
    const text = await (await fetch(`${url}/metrics`, { headers: { accept: 'text/plain' } })).text()

    for (const expected of METRICS) {
      const [, name = '', labels = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(expected) ?? []
      assert.match(text, new RegExp(`^# TYPE ${name} `, 'm'), name)
      const series = [...text.matchAll(new RegExp(`^${name}(?:_count)?\\{([^}]*)\\}`, 'gm'))]
      for (const [, found = ''] of series) {
        const names = [...found.matchAll(/(\w+)="/g)].map((match) => match[1])
        assert.deepEqual(names, labels.split(','), expected)
      }
    }
    assert.doesNotMatch(text, UNIQUE)
    for (const result of ['ok', 'timeout', 'reject'])
      assert.match(text, new RegExp(`judge_exec_total{result="${result}"} \\d`))
    for (const verdict of ['AC', 'WA', 'TLE', 'RE'])
      assert.match(text, new RegExp(`judge_verdict_total{verdict="${verdict}"} 1`))
    assert.match(text, /^judge_exec_inflight 0$/m)
    assert((await metric(url, 'judge_box_seconds_total')) > 0)
    assert.match(text, /^worker_finalize_total\{status="ok"\} 4$/m)
  })

  test('judge INV-6: log lines about a submission carry job, attempt and trace ids, and no code', async (t) => {
    const lines: string[] = []
    const { url, ann } = await setup(t, { lines })
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    const traceparent = `00-${traceId}-b7ad6b7169203331-01`
    const code = `${TWICE.accepted}// a secret of mine\n`

    const { body } = await submit(url, ann, { code }, { traceparent })
    await judged(url, ann, body.job_id)

    const about = lines.map((line) => JSON.parse(line)).find((line) => line.msg === 'judged')
    assert.deepEqual([about.job_id, about.attempt_id, about.trace_id, about.verdict], [body.job_id, 1, traceId, 'AC'])
    assert(!lines.join('').includes('a secret of mine'))
  })
})
