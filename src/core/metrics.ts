// One registry per server. A label never carries an id: each distinct value is a time series that is never deleted.
//
// Gauges that are read from the database or another server are sampled at a scrape: gauges of one part share one sample, which
// reads a limited number of rows. A part that fails, or takes too long, has no values in this scrape and is named by
// reeve_metrics_unavailable; the other metrics are answered as ever.
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client'
import { withTimeout } from './concurrency/waiter.ts'

const SAMPLE_WITHIN_MS = 3000 // Prometheus gives a scrape ten seconds

// nodejs_eventloop_lag_* contains this interval. The library's 10 ms alone would cost an idle server half a percent of a core.
const LAG_SAMPLE_MS = 100

export type Metrics = Registry

export interface GaugeValue {
  labels?: Readonly<Record<string, string>>
  value: number
}

export interface SampledGauge<Sample> {
  name: string
  help: string
  labelNames?: readonly string[]
  values(sample: Sample): readonly GaugeValue[]
}

export function openMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_SAMPLE_MS })
  return registry
}

/** Registers gauges whose values come from one sample. */
export function sampledGauges<Sample>(
  registry: Metrics,
  part: string,
  sample: () => Promise<Sample>,
  gauges: readonly SampledGauge<Sample>[],
): void {
  // A scrape asks all gauges in one turn of the event loop: they share the sample that the first of them began.
  let running: Promise<Sample | null> | null = null
  const current = () =>
    (running ??= withTimeout(sample(), SAMPLE_WITHIN_MS, `No answer within ${SAMPLE_WITHIN_MS} ms.`)
      .catch(() => null)
      .finally(() => (running = null)))

  for (const { name, help, labelNames = [], values } of gauges) {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames,
      registers: [],
      async collect() {
        const taken = await current()
        this.reset()
        if (labelNames.length === 0) this.remove() // a gauge without labels is reset to 0
        for (const { labels = {}, value } of taken === null ? [] : values(taken)) this.set(labels, value)
      },
    })
    registry.registerMetric(gauge)
  }
  partsOf(registry).set(part, async () => (await current()) === null)
}

type Parts = Map<string, () => Promise<boolean>>
const partsByRegistry = new WeakMap<Metrics, Parts>()

function partsOf(registry: Metrics): Parts {
  const known = partsByRegistry.get(registry)
  if (known !== undefined) return known
  const parts: Parts = new Map()
  partsByRegistry.set(registry, parts)
  const unavailable = new Gauge({
    name: 'reeve_metrics_unavailable',
    help: '1: the metrics of this part could not be read for this scrape.',
    labelNames: ['part'],
    registers: [],
    async collect() {
      const asked = [...parts].map(async ([part, failed]) => [part, await failed()] as const)
      for (const [part, failed] of await Promise.all(asked)) this.set({ part }, failed ? 1 : 0)
    },
  })
  registry.registerMetric(unavailable)
  return parts
}
