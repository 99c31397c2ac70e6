import { Counter, Gauge, Histogram } from 'prom-client'
import type { Metrics } from '../../core/metrics.ts'

const LATENESS_MS = [1, 2, 5, 10, 20, 50, 100, 500]

export type ArenaMetrics = ReturnType<typeof openArenaMetrics>

export function openArenaMetrics(registry: Metrics, counts: { sessions(): number }) {
  const registers = [registry]
  const sessions = new Gauge({
    name: 'arena_sessions',
    help: 'Matches running on this server.',
    collect() {
      this.set(counts.sessions())
    },
    registers: [],
  })
  registry.registerMetric(sessions)
  return {
    matches: new Counter({
      name: 'arena_matches_total',
      help: 'Matches that ended on this server, by reason.',
      labelNames: ['result'],
      registers,
    }),
    resumed: new Counter({
      name: 'arena_resumed_total',
      help: 'Matches taken over from another server and continued.',
      registers,
    }),
    paired: new Counter({ name: 'arena_paired_total', help: 'Matches paired by this server.', registers }),
    closed: new Counter({
      name: 'arena_sockets_closed_total',
      help: 'WebSockets closed by this server, by reason.',
      labelNames: ['reason'],
      registers,
    }),
    lateness: new Histogram({
      name: 'arena_tick_lateness_ms',
      help: 'Delay with which slots of the timing wheel ran.',
      buckets: LATENESS_MS,
      registers,
    }),
  }
}
