/** SQL of the place in the order of a job that is ready after `delayMs`: a level of priority is worth `ageingSec` of waiting. */
export const rankSql = (priority: string, delayMs: string, ageingSec: string): string =>
  `(date_part('epoch', clock_timestamp()) * 1e6)::bigint + ${delayMs} * 1000 - ${priority} * ${ageingSec}::bigint * 1000000`
