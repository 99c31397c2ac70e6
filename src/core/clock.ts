// The process's clock. It times waits and stamps log lines; it never judges a lease or a window: PostgreSQL does.

export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }

/** The wire's form of a moment: ISO-8601, UTC. */
export const isoNow = (clock: Clock = systemClock): string => new Date(clock.now()).toISOString()
