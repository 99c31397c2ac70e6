// The list of jobs with a million of them: what the console asks for as one scrolls and filters, and the slowest run of each statement.
import { Client } from 'pg'
import type { Reeve } from '../pool/server.ts'

const PAGE = 100
const PAGES_MAX = 30

// Ids begin with their time, a second apart. One in a hundred is dead, and one in a hundred waits.
const FILL = `
  insert into jobs (job_id, kind, state, priority, rank, payload, result, reason, attempt_id, max_attempts, account_id,
                    submitted_at, started_at, finished_at)
  select (lpad(to_hex(ms), 12, '0') || '7' || substr(hash, 1, 3) || '8' || substr(hash, 4, 15))::uuid,
         (array['send_email', 'resize_image', 'nightly_report', 'sync_account', 'charge_card'])[1 + n % 5],
         state, 1 + n % 9, n, json_build_object('n', n),
         case when state = 'done' then '{"ok":true}'::json end,
         case when state = 'dead' then (array['SMTP 451', 'out of memory', 'no such file'])[1 + n % 3] end,
         case when state = 'pending' then 0 else 1 end, 5, n % 1000, at,
         case when state <> 'pending' then at end, case when state <> 'pending' then at end
    from (select n, md5(n::text) as hash, to_timestamp((now_ms - n * 1000) / 1000.0) as at, now_ms - n * 1000 as ms,
                 (case n % 100 when 0 then 'dead' when 50 then 'pending' else 'done' end)::job_state as state
            from generate_series(1, $1::bigint) as n, (select (extract(epoch from now()) * 1000)::bigint as now_ms) as clock) as made`

const RESET = `select pg_stat_statements_reset()`
const SLOWEST = `
  select query, calls::integer, max_exec_time as max_ms, mean_exec_time as mean_ms from pg_stat_statements
   where dbid = (select oid from pg_database where datname = current_database()) and query ~ '\\mjobs\\M'
   order by max_exec_time desc limit 5`

const FILTERS: readonly Readonly<Record<string, string>>[] = [
  {},
  { state: 'dead' },
  { state: 'pending' },
  { state: 'processing' },
  { state: 'done' },
  { kind: 'charge_card' },
  { kind: 'charge_card', state: 'dead' },
  { kind: 'nothing_by_this_name' },
  { account_id: '7' },
  { state: 'dead', reason: 'memory' },
  { reason: 'no such text' },
  { owner: 'nobody' },
  { trace_id: 'none' },
  { priority: '9' },
]

export interface SlowStatement {
  query: string
  calls: number
  max_ms: number
  mean_ms: number
}

export interface JobListCost {
  requests: number
  /** The slowest first. */
  statements: readonly SlowStatement[]
}

interface JobPage {
  jobs: { job_id: string }[]
  next_before: string | null
}

export async function measureJobList(reeve: Reeve, jobs: number): Promise<JobListCost> {
  const { host, port, user } = reeve.postgres
  const client = new Client({ host, port, user, database: reeve.database })
  await client.connect()
  try {
    await client.query('create extension if not exists pg_stat_statements')
    await client.query(FILL, [jobs])
    await reeve.postgres.settle(reeve.database)
    await client.query(RESET)
    let requests = 0
    for (const filter of FILTERS) requests += await scroll(reeve, filter)
    return { requests, statements: (await client.query<SlowStatement>(SLOWEST)).rows }
  } finally {
    await client.end()
  }
}

/** As the page does: the count, then page after page; and the first job of each page is opened. */
async function scroll(reeve: Reeve, filter: Readonly<Record<string, string>>): Promise<number> {
  const get = async <Body>(path: string): Promise<Body> => {
    const { status, body } = await reeve.http.get<Body>(path, { ...reeve.admin })
    if (status !== 200) throw new Error(`${path} was answered with ${status}: ${JSON.stringify(body)}`)
    return body
  }
  await get(`/admin/jobs/count?${new URLSearchParams(filter)}`)
  let requests = 1
  let before: string | null = null
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const query = new URLSearchParams({ ...filter, limit: String(PAGE), ...(before === null ? {} : { before }) })
    const { jobs, next_before: next }: JobPage = await get(`/admin/jobs?${query}`)
    const [first] = jobs
    if (first !== undefined) await get(`/admin/jobs/${first.job_id}`)
    requests += first === undefined ? 1 : 2
    if (next === null) break
    before = next
  }
  return requests
}
