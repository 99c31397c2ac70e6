// The messages of the live topic `overview`, for accounts with the role ADMIN: `history` {points} once, then `sample` each second.

/** Rates are per second, latencies milliseconds; null where nothing was measured. */
export interface OverviewPoint {
  /** Seconds since 1970. */
  at: number
  submitted: number
  done: number
  died: number
  waiting: number
  running: number
  p50: number | null
  p95: number | null
  p99: number | null
  requests: number | null
  errors: number | null
}

export interface OverviewSample {
  point: OverviewPoint
  kinds: { kind: string; waiting: number; running: number; oldest_at: string | null }[]
  /** What a person should look at: `to` is a page of the console. */
  attention: { tone: 'warn' | 'bad'; count: number; isMore?: boolean; text: string; to: string }[]
}
