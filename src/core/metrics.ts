// One registry per server. A label never carries an id: each distinct value is a time series that is never deleted.
import { collectDefaultMetrics, Registry } from 'prom-client'

export type Metrics = Registry

export function openMetrics(): Metrics {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
}
