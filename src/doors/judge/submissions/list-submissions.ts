// GET /submissions: one's own, newest first. An admin may ask for everybody's.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Deps } from '../../../core/door.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { accountOf, requireAccount } from '../../../core/http/auth/guard.ts'
import { HttpError } from '../../../core/http/errors/http-error.ts'
import { JOB_ID } from '../../../core/ledger/job.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { REFUSALS } from '../errors.ts'
import { listSubmissions, type SubmissionRow } from './submission-store.ts'
import { STATUS_TEXT, VERDICTS } from './verdict.ts'

const LIMIT_DEFAULT = 50

const Query = Type.Object({
  problem_id: Type.Optional(Type.String({ maxLength: 100 })),
  verdict: Type.Optional(Type.Union(VERDICTS.map((verdict) => Type.Literal(verdict)))),
  before: Type.Optional(Type.String({ pattern: JOB_ID.source })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: `Default ${LIMIT_DEFAULT}.` })),
  all: Type.Optional(Type.Boolean({ description: 'Everybody’s: for admins.' })),
})
const OrNull = <T extends 'number' | 'string'>(type: T) =>
  Type.Union([type === 'number' ? Type.Number() : Type.String(), Type.Null()])
const Listed = Type.Object({
  submissions: Type.Array(
    Type.Object({
      job_id: Type.String(),
      account_id: Type.Integer(),
      problem_id: Type.String(),
      language: Type.String(),
      status: Type.String({ description: 'PENDING, RUNNING or FINISHED.' }),
      verdict: OrNull('string'),
      status_text: OrNull('string'),
      score: OrNull('number'),
      time_ms: OrNull('number'),
      mem_kb: OrNull('number'),
      rejudge_of: Type.Union([Type.String(), Type.Null()], { description: 'The submission that was judged again.' }),
      submitted_at: Type.String(),
      finished_at: OrNull('string'),
    }),
  ),
  next_before: Type.Union([Type.String(), Type.Null()], { description: '`before` of the next page; null: the last.' }),
})

export const submissionsRoute =
  ({ identity, database, ledger }: Pick<Deps, 'identity' | 'database' | 'ledger'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      tags: ['judge'],
      security: SECURED,
      summary: 'List submissions, newest first.',
      querystring: Query,
      response: { 200: Listed, ...REFUSALS },
    }

    app.get('/submissions', { schema, onRequest: requireAccount(identity) }, async (request) => {
      const { problem_id: problemId, verdict, before, limit = LIMIT_DEFAULT, all = false } = request.query
      const { accountId, roles } = accountOf(request)
      if (all && !roles.includes('ADMIN')) throw new HttpError(403, 'forbidden', 'Insufficient role')
      const rows = await listSubmissions(database, {
        accountId: all ? null : accountId,
        problemId,
        verdict,
        before,
        limit: limit + 1, // one more tells whether there is a next page
      })
      const page = rows.slice(0, limit)
      const running = await runningOf(ledger, page)
      return {
        submissions: page.map((row) => lineOf(row, running.has(row.job_id))),
        next_before: rows.length > limit ? (page.at(-1)?.job_id ?? null) : null,
      }
    })
  }

async function runningOf(ledger: Ledger, rows: readonly SubmissionRow[]): Promise<ReadonlySet<string>> {
  const open = rows.filter((row) => row.verdict === null).map((row) => row.job_id)
  const briefs = open.length === 0 ? [] : await ledger.briefs(open)
  return new Set(briefs.filter(({ state }) => state === 'processing').map(({ jobId }) => jobId))
}

const lineOf = (row: SubmissionRow, isRunning: boolean) => ({
  job_id: row.job_id,
  account_id: Number(row.account_id),
  problem_id: row.problem_id,
  language: row.language,
  status: row.verdict !== null ? 'FINISHED' : isRunning ? 'RUNNING' : 'PENDING',
  verdict: row.verdict,
  status_text: row.verdict === null ? null : STATUS_TEXT[row.verdict],
  score: row.score,
  time_ms: row.time_ms,
  mem_kb: row.mem_kb === null ? null : Number(row.mem_kb),
  rejudge_of: row.rejudge_of,
  submitted_at: row.created_at.toISOString(),
  finished_at: row.finished_at?.toISOString() ?? null,
})
