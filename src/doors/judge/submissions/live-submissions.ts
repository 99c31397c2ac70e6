// The topic `submissions` of /live: those that a page of their owner or of an admin has in sight, whenever one of them has
// changed, and the newest one. It says that they have, and the page reads them again.
import { Type } from 'typebox'
import type { Database } from '../../../core/db/database.ts'
import { JOB_ID } from '../../../core/ledger/job.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { both, lookLoop, openSights } from '../../../core/live/sights.ts'
import { liveTopic, type LiveTopic } from '../../../core/live/topic.ts'
import type { Loop } from '../../../core/loop.ts'
import { refused } from '../../../core/values/outcome.ts'
import { JUDGE_KIND } from '../settings.ts'

const SELECT_NEWEST = `
  select a.account_id, s.job_id
    from unnest($1::bigint[]) as a (account_id),
         lateral (select job_id from judge_submissions where account_id = a.account_id order by job_id desc limit 1) as s`

const SELECT_NEWEST_OF_ALL = `select job_id from judge_submissions order by job_id desc limit 1`

const IN_SIGHT_MAX = 200
const EVERYBODY = 'everybody'

const Params = Type.Object(
  {
    job_ids: Type.Array(Type.String({ pattern: JOB_ID.source }), { maxItems: IN_SIGHT_MAX }),
    /** Everybody's: for admins. */
    all: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)

export interface LiveSubmissionsDeps {
  database: Database
  ledger: Pick<Ledger, 'summaries'>
}

export function openLiveSubmissions({ database, ledger }: LiveSubmissionsDeps): { topic: LiveTopic; loop: Loop } {
  const sights = openSights(async (jobIds) => {
    const jobs = (await ledger.summaries(jobIds)).filter(({ kind }) => kind === JUDGE_KIND)
    return new Map(jobs.map(({ jobId, state, attemptId }) => [jobId, { job_id: jobId, state, attempt_id: attemptId }]))
  })
  const newest = openSights((accounts) => newestOf(database, accounts))
  return {
    topic: liveTopic({
      name: 'submissions',
      roles: [],
      params: Params,
      async open({ params: { job_ids: asked, all = false }, account: { accountId, roles }, send }) {
        const isAdmin = roles.includes('ADMIN')
        if (all && !isAdmin) return refused('forbidden')
        const jobs = await ledger.summaries(asked.map((jobId) => jobId.toLowerCase()))
        const own = jobs.filter((job) => isAdmin || job.accountId === accountId).map(({ jobId }) => jobId)
        return both(
          sights.open(own, (changed) => send('changed', { submissions: changed })),
          newest.open([all ? EVERYBODY : String(accountId)], ([jobId]) => send('newest', { job_id: jobId })),
        )
      },
    }),
    loop: lookLoop('submissions', sights, newest),
  }
}

async function newestOf(database: Database, accounts: readonly string[]): Promise<Map<string, string>> {
  const ids = accounts.filter((account) => account !== EVERYBODY)
  const own = await database.query<{ account_id: string; job_id: string }>(SELECT_NEWEST, [ids])
  const all = accounts.includes(EVERYBODY) ? await database.query<{ job_id: string }>(SELECT_NEWEST_OF_ALL) : []
  return new Map([
    ...own.map((row) => [row.account_id, row.job_id] as const),
    ...all.map((row) => [EVERYBODY, row.job_id] as const),
  ])
}
