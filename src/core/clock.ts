// The clock of the process, for waits and log lines. Leases and time windows are judged by PostgreSQL's clock.

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** As on the wire: ISO-8601, UTC. */
export const isoNow = (clock: Clock = systemClock): string => new Date(clock.now()).toISOString()
