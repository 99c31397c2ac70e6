// The topic `pool_jobs` of /live: which jobs of a client have changed among those that a page shows, and which are new. It says
// that they have, and the page reads them again. As with all jobs, each process asks once a second for what its pages show.
import { Type } from 'typebox'
import { systemClock, type Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/db/database.ts'
import { firstIdAt, JOB_ID } from '../../../core/ledger/job.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { liveTopic, type LiveTopic, type SendLive } from '../../../core/live/topic.ts'
import type { Loop } from '../../../core/loop.ts'
import { groupBy } from '../../../core/values/group-by.ts'
import { POOL_KIND, QUORUM_KIND } from '../tasks/payload.ts'

const EVERY_MS = 1000
const IN_SIGHT_MAX = 200
const NEW_MAX = 100
const LATE_MS = 5000 // a commit may take so long

const KINDS: readonly string[] = [POOL_KIND, QUORUM_KIND]

const TASKS = `
  select quorum_id as job_id, count(*) || ' ' || count(worker_id) as text
    from pool_tasks where quorum_id = any($1::uuid[]) group by quorum_id`

const RECEIPTS = `
  select coalesce(a.quorum_id, a.job_id) as job_id, count(p.number)::text as text
    from pool_assignments a join pool_receipts p on p.assignment_id = a.assignment_id
   where a.job_id = any($1::uuid[]) or a.quorum_id = any($1::uuid[]) group by 1`

const JobId = Type.String({ pattern: JOB_ID.source })
const Params = Type.Object(
  {
    job_ids: Type.Array(JobId, { maxItems: IN_SIGHT_MAX }),
    /** Also tells when one of them gets a receipt. */
    receipts: Type.Optional(Type.Boolean()),
    /** Also tells of jobs that are submitted from now on. */
    new: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)

interface WatchedJobs {
  clientId: number
  jobIds: readonly string[]
  hasReceipts: boolean
  hasNew: boolean
  /** What each was like when it was last told of. */
  told: Map<string, string>
  toldNew: Set<string>
  send: SendLive
}

export interface LivePoolJobsDeps {
  database: Database
  ledger: Pick<Ledger, 'search' | 'summaries'>
  clock?: Clock
}

export function openLivePoolJobs({ database, ledger, clock = systemClock }: LivePoolJobsDeps): {
  topic: LiveTopic
  loop: Loop
} {
  const sights = new Set<WatchedJobs>()
  let since = firstIdAt(clock.now() - LATE_MS)
  return {
    topic: liveTopic({
      name: 'pool_jobs',
      roles: ['CLIENT'],
      params: Params,
      open: async ({ params, account, send }) => {
        const sight: WatchedJobs = {
          clientId: account.accountId,
          jobIds: params.job_ids.map((jobId) => jobId.toLowerCase()),
          hasReceipts: params.receipts === true,
          hasNew: params.new === true,
          told: new Map(),
          toldNew: new Set(params.job_ids),
          send,
        }
        sights.add(sight)
        return { ok: true, close: () => sights.delete(sight) }
      },
    }),
    loop: {
      name: 'watch-pool-jobs-for-pages',
      everyMs: EVERY_MS,
      async runOnce() {
        const now = clock.now()
        await tellChanged({ database, ledger }, sights, now)
        await tellNew(ledger, sights, since)
        since = firstIdAt(now - LATE_MS) // of this pass: the next one may be late
        return false
      },
    },
  }
}

async function tellChanged(
  { database, ledger }: Pick<LivePoolJobsDeps, 'database' | 'ledger'>,
  sights: ReadonlySet<WatchedJobs>,
  now: number,
): Promise<void> {
  const jobIds = idsOf([...sights])
  if (jobIds.length === 0) return
  const jobs = (await ledger.summaries(jobIds)).filter(({ kind }) => KINDS.includes(kind))
  const tasks = await textsOf(
    database,
    TASKS,
    jobs.filter(({ kind }) => kind === QUORUM_KIND).map(({ jobId }) => jobId),
  )
  const receipts = await textsOf(database, RECEIPTS, idsOf([...sights].filter(({ hasReceipts }) => hasReceipts)))
  const seen = new Map(
    jobs.map((job) => {
      const isHeld = job.leaseUntil !== null && job.leaseUntil.getTime() > now
      const like = [job.state, job.attemptId, isHeld, tasks.get(job.jobId)].join(' ')
      return [job.jobId, { accountId: job.accountId, like }]
    }),
  )
  for (const { clientId, jobIds: inSight, hasReceipts, told, send } of sights) {
    const changed = inSight.filter((jobId) => {
      const job = seen.get(jobId)
      if (job === undefined || job.accountId !== clientId) return false
      const like = hasReceipts ? `${job.like} ${receipts.get(jobId)}` : job.like
      const isChanged = told.get(jobId) !== like
      told.set(jobId, like)
      return isChanged
    })
    if (changed.length > 0) send('changed', { job_ids: changed })
  }
}

async function tellNew(ledger: Pick<Ledger, 'search'>, sights: ReadonlySet<WatchedJobs>, since: string): Promise<void> {
  const byClient = groupBy(
    [...sights].filter(({ hasNew }) => hasNew),
    ({ clientId }) => clientId,
  )
  for (const [accountId, group] of byClient) {
    const found = await ledger.search({ accountId, since }, NEW_MAX)
    const jobIds = found.jobs.filter(({ kind }) => KINDS.includes(kind)).map(({ jobId }) => jobId)
    for (const sight of group) {
      const fresh = jobIds.filter((jobId) => !sight.toldNew.has(jobId))
      sight.toldNew = new Set(jobIds)
      if (fresh.length > 0) sight.send('new', { job_ids: fresh })
    }
  }
}

const idsOf = (sights: readonly WatchedJobs[]): string[] => [...new Set(sights.flatMap(({ jobIds }) => jobIds))]

async function textsOf(database: Database, sql: string, jobIds: readonly string[]): Promise<Map<string, string>> {
  if (jobIds.length === 0) return new Map()
  const rows = await database.query<{ job_id: string; text: string }>(sql, [jobIds])
  return new Map(rows.map((row) => [row.job_id, row.text]))
}
