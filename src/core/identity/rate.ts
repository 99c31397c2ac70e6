// A rate limit counts calls in a window that begins with the first one. The database's clock decides, so that the limit
// holds for all servers of a deployment together.
import { batched } from '../db/batch.ts'
import type { Queryable } from '../db/database.ts'

// Sorted, so that two servers that count the same buckets cannot deadlock.
const TAKE = `
  insert into rate_windows as known (bucket, ends_at, count)
  select bucket, clock_timestamp() + window_sec * interval '1 second', 1
    from json_to_recordset($1) as r (bucket text, window_sec integer)
   order by bucket
      on conflict (bucket) do update set
         count = case when known.ends_at <= clock_timestamp() then 1 else known.count + 1 end,
         ends_at = case when known.ends_at <= clock_timestamp() then excluded.ends_at else known.ends_at end
  returning bucket, count, greatest(1, ceil(extract(epoch from ends_at - clock_timestamp())))::integer as retry_after_sec`
const DELETE_OVER = `
  delete from rate_windows where bucket = any (array(
    select bucket from rate_windows where ends_at <= statement_timestamp() limit $1)) returning true as deleted`

export interface RateLimit {
  max: number
  windowSec: number
}

export type RateAnswer = { ok: true } | { ok: false; retryAfterSec: number }

export type TakeRate = (bucket: string, limit: RateLimit) => Promise<RateAnswer>

interface Take extends RateLimit {
  bucket: string
}

/** Adds one to the bucket and returns whether the count is within the limit. */
export function openRate(on: Queryable): TakeRate {
  const take = batched<Take, RateAnswer>({ keyOf: ({ bucket }) => bucket, run: (takes) => takeAll(on, takes) })
  return (bucket, limit) => take({ bucket, ...limit })
}

async function takeAll(on: Queryable, takes: readonly Take[]): Promise<RateAnswer[]> {
  const rows = takes.map(({ bucket, windowSec }) => ({ bucket, window_sec: windowSec }))
  type Counted = { bucket: string; count: number; retry_after_sec: number }
  const counted = await on.query<Counted>(TAKE, [JSON.stringify(rows)])
  const countOf = new Map(counted.map((row) => [row.bucket, row]))

  return takes.map(({ bucket, max }) => {
    const row = countOf.get(bucket)
    if (row === undefined) throw new Error('The rate was not counted.')
    return row.count <= max ? { ok: true } : { ok: false, retryAfterSec: row.retry_after_sec }
  })
}

export async function deleteExpiredWindows(on: Queryable, limit: number): Promise<number> {
  return (await on.query(DELETE_OVER, [limit])).length
}
