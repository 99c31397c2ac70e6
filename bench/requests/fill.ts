// Finished work of every door, as many rows as each keeps of it.
import type { Database } from '../../src/core/db/database.ts'

// Ids begin with their time, a second apart, so that they lie before those of the requests that are measured.
const JOBS = `
  insert into jobs (job_id, kind, state, priority, rank, payload, result, attempt_id, max_attempts, account_id,
                    submitted_at, started_at, finished_at)
  select (lpad(to_hex(ms), 12, '0') || '7' || substr(hash, 1, 3) || '8' || substr(hash, 4, 15))::uuid,
         (array['pool', 'solve', 'judge', 'desk', 'match'])[1 + n % 5],
         'done', 5, n, '{"n":1}', '{"ok":true}', 1, 5, $2, at, at, at
    from (select n, md5(n::text) as hash, to_timestamp((now_ms - n * 1000) / 1000.0) as at, now_ms - n * 1000 as ms
            from generate_series(1, $1::bigint) as n, (select (extract(epoch from now()) * 1000)::bigint as now_ms) as clock) as made`
const OF_POOL = `
  with ended as (select job_id, -row_number() over (order by job_id) as n from jobs where kind = 'pool' and state = 'done'),
  assigned as (
    insert into pool_assignments (assignment_id, worker_id, job_id, attempt_id, nonce, cost_hint, lease_ms)
    select n, 1, job_id, 1, md5(job_id::text), 1, 60000 from ended on conflict do nothing
  ), results as (
    insert into pool_results (assignment_id, job_id, worker_id, status, output, signature, public_key, finished_at, is_final)
    select n, job_id, 1, 'completed', '{"value":42}', '', '', clock_timestamp(), true from ended
    on conflict do nothing
  )
  insert into pool_receipts (number, assignment_id, body, hash, signature)
  select n, n, '{}', md5(n::text), '' from ended on conflict do nothing`
const OF_CHALLENGE = `
  with ended as (select job_id, job_id::text as id from jobs where kind = 'solve' and state = 'done'),
  requests as (
    insert into solve_requests (challenge_id, job_id, callback_url, status, answer, finished_at)
    select id, job_id, 'https://challenger.example/', 'success', '1', clock_timestamp() from ended on conflict do nothing
  ), nonces as (
    insert into challenge_nonces (side, nonce) select 'solver', id from ended on conflict do nothing
  ), made as (
    insert into challenges (challenge_id, account_id, problem, validation_rule, answer, body_hash, bytes, state, completed_at)
    select id, $1, '{}', '{"type":"ExactMatch"}', '1', '', 2, 'completed', clock_timestamp() from ended
    on conflict do nothing returning challenge_id
  )
  insert into challenge_results (challenge_id, request_id, status, rule, is_final, body_hash, bytes)
  select challenge_id, 'r1', 'success', 'ExactMatch', true, '', 2 from made`
const OF_JUDGE = `
  insert into judge_submissions (job_id, account_id, problem_id, language, verdict, time_ms, mem_kb, created_at, finished_at)
  select job_id, $1, 'double', 'c', 'AC', 1, 1000, submitted_at, finished_at from jobs where kind = 'judge' and state = 'done'
  on conflict do nothing`
const OF_DESK = `
  insert into captcha_task (uuid, job_id, account_id, url, domain, priority, metadata, status, unclaimed_since, ended_at)
  select job_id, job_id, $1, 'https://shop.example/', 'shop.example', 5, '{}', 'solved', null, clock_timestamp()
    from jobs where kind = 'desk' and state = 'done'
  on conflict do nothing`
const OF_ARENA = `
  with ended as (
    select job_id, submitted_at, 'old player ' || row_number() over (order by job_id) as name
      from jobs where kind = 'match' and state = 'done'
  ), made as (
    insert into accounts (username, username_key, password_hash, roles)
    select name, name, '', '{PLAYER}' from ended on conflict do nothing returning account_id, username_key
  ), playing as (
    insert into players (user_id, rating, games, wins) select account_id, 1000 + account_id % 1000, 10, 5 from made
    on conflict (user_id) do update set games = 10, rating = excluded.rating
  )
  insert into match_results (match_id, mode, user_a, user_b, reason, ticks, tick_interval_ms, position_a, position_b, inputs, created_at)
  select job_id, 'normal', account_id, $1, 'completed', 50, 100, 1, 2, '', submitted_at
    from ended join made on made.username_key = ended.name
  on conflict do nothing`

export async function fillWithFinished(database: Database, count: number, accountId: number): Promise<void> {
  await database.query(JOBS, [count, accountId])
  await database.query(OF_POOL)
  for (const sql of [OF_CHALLENGE, OF_JUDGE, OF_DESK, OF_ARENA]) await database.query(sql, [accountId])
  await database.query('vacuum analyze')
}
