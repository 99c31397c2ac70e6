// The rows of lists and quotas. They change with the job: each change is an effect of its transition.
import type { Database } from '../../../core/db/database.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import type { JudgeResult } from './result.ts'
import type { Verdict } from './verdict.ts'

const INSERT = `
  insert into judge_submissions (job_id, account_id, problem_id, language, rejudge_of)
  select job_id, account_id, problem_id, language, rejudge_of
    from json_to_recordset($1) as r (job_id uuid, account_id bigint, problem_id text, language text, rejudge_of uuid)`

const FINISH = `
  update judge_submissions as known
     set verdict = r.verdict, score = r.score, time_ms = r.time_ms, mem_kb = r.mem_kb, finished_at = clock_timestamp()
    from json_to_recordset($1) as r (job_id uuid, verdict text, score float8, time_ms integer, mem_kb bigint)
   where known.job_id = r.job_id and known.verdict is null`

const LIST = `
  select job_id, account_id, problem_id, language, verdict, score, time_ms, mem_kb, rejudge_of, created_at, finished_at
    from judge_submissions
   where ($1::bigint is null or account_id = $1) and ($2::text is null or problem_id = $2)
     and ($3::text is null or verdict = $3) and ($4::uuid is null or job_id < $4)
   order by job_id desc limit $5`

const COUNT_WAITING = `
  select account_id, count(*)::integer as waiting
    from judge_submissions
   where account_id = any($1) and verdict is null
   group by account_id`

export interface NewSubmissionRow {
  jobId: string
  accountId: number
  problemId: string
  language: string
  /** An admin had that one judged again. */
  rejudgeOf?: string
}

export interface SubmissionRow {
  job_id: string
  account_id: string
  problem_id: string
  language: string
  verdict: Verdict | null
  score: number | null
  time_ms: number | null
  mem_kb: string | null
  rejudge_of: string | null
  created_at: Date
  finished_at: Date | null
}

export interface SubmissionFilter {
  /** Null: everybody's. */
  accountId: number | null
  problemId?: string | undefined
  verdict?: Verdict | undefined
  before?: string | undefined
  limit: number
}

export const submitted = ({ jobId, accountId, problemId, language, rejudgeOf }: NewSubmissionRow): Effect => ({
  sql: INSERT,
  row: { job_id: jobId, account_id: accountId, problem_id: problemId, language, rejudge_of: rejudgeOf ?? null },
})

export const finished = (
  jobId: string,
  { verdict, score, time_ms, mem_kb }: Pick<JudgeResult, 'verdict' | 'score' | 'time_ms' | 'mem_kb'>,
): Effect => ({ sql: FINISH, row: { job_id: jobId, verdict, score: score ?? null, time_ms, mem_kb } })

/** Newest first. */
export const listSubmissions = (database: Database, filter: SubmissionFilter): Promise<SubmissionRow[]> => {
  const { accountId, problemId = null, verdict = null, before = null, limit } = filter
  return database.query<SubmissionRow>(LIST, [accountId, problemId, verdict, before, limit])
}

/** Submissions of these accounts that have no verdict yet. */
export async function countWaiting(
  database: Database,
  accountIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const rows = await database.query<{ account_id: string; waiting: number }>(COUNT_WAITING, [accountIds])
  return new Map(rows.map((row) => [Number(row.account_id), row.waiting]))
}
