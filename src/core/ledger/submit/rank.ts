/**
 * SQL of a job's position in the order of its kind: the time from which it is ready, in microseconds, earlier by
 * `ageingSec` for each level of priority.
 */
export const rankSql = (priority: string, delayMs: string, ageingSec: string): string =>
  `(date_part('epoch', clock_timestamp()) * 1e6)::bigint + ${delayMs} * 1000 - ${priority} * ${ageingSec}::bigint * 1000000`
