import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { pino } from 'pino'
import { openMetrics } from '../../src/core/metrics.ts'
import { isSampled } from '../../src/core/traces/context.ts'
import { openExporter } from '../../src/core/traces/exporter.ts'
import type { Span } from '../../src/core/traces/otlp.ts'
import { newJobId } from '../../src/core/random.ts'
import { startCollector } from '../watch/collector.ts'
import { valueOf } from '../watch/scrape.ts'

const span = (number: number): Span => ({
  traceId: 'a'.repeat(32),
  spanId: (number + 1).toString(16).padStart(16, '0'),
  parentSpanId: null,
  name: 'job echo',
  kind: 'internal',
  startMs: 1_700_000_000_000.5,
  endMs: 1_700_000_000_001,
  attributes: { id: number, owner: null, share: 0.5, ok: true },
  error: null,
})

function openTo(url: string) {
  const metrics = openMetrics()
  const exporter = openExporter({
    url: `${url}/v1/traces`,
    headers: {},
    service: 'reeve',
    instance: 'test',
    metrics,
    log: pino({ level: 'silent' }),
  })
  const counted = async (outcome: string) => valueOf(await metrics.metrics(), 'reeve_trace_spans_total', { outcome })
  return { ...exporter, counted }
}

const signal = new AbortController().signal

describe('the exporter of spans', () => {
  test('a full queue drops what comes and counts it; the rest is sent in batches', async (t) => {
    const collector = await startCollector(t)
    const exporter = openTo(collector.url)

    for (let number = 0; number < 8200; number += 1) exporter.add(span(number))
    while (await exporter.loop.runOnce(signal)) continue
    await exporter.close()

    assert.deepEqual([await exporter.counted('sent'), await exporter.counted('dropped')], ['8192', '8'])
    assert.deepEqual([collector.requests.length, collector.spans.length], [16, 8192])
    const [first] = collector.spans
    assert.deepEqual([first?.startTimeUnixNano, first?.endTimeUnixNano], ['1700000000000500000', '1700000000001000000'])
    assert.deepEqual(first?.attributes, [
      { key: 'id', value: { intValue: '0' } },
      { key: 'share', value: { doubleValue: 0.5 } },
      { key: 'ok', value: { boolValue: true } },
    ])
  })

  test('spans wait for a collector that is busy, and are dropped by one that refuses them', async (t) => {
    const collector = await startCollector(t, [503, 400])
    const exporter = openTo(collector.url)

    exporter.add(span(1))
    await exporter.loop.runOnce(signal)
    const afterBusy = [await exporter.counted('sent'), await exporter.counted('dropped')]
    await exporter.close()
    const afterRefusal = [await exporter.counted('sent'), await exporter.counted('dropped')]

    assert.deepEqual([afterBusy, afterRefusal, collector.requests.length], [['0', '0'], ['0', '1'], 2])
  })
})

test('a tenth of the traces is sampled, whatever the time in their ids', () => {
  const ids = Array.from({ length: 20_000 }, () => newJobId().replaceAll('-', ''))

  const sampled = ids.filter((id) => isSampled(id, 0.1)).length

  assert(sampled > 1700 && sampled < 2300, `${sampled} of 20000`)
  assert(ids.every((id) => isSampled(id, 1) && !isSampled(id, 0)))
})
