// Two topics for pages that show jobs. `jobs`: what was submitted since, and matches a filter. `job_states`: the jobs that are in
// sight, whenever one of them has changed. A job's transitions write no events, since they are the hot path: once a second
// each process asks for what its pages show, in one statement for all jobs in sight and one for each different filter.
import { Type } from 'typebox'
import { systemClock, type Clock } from '../clock.ts'
import { JOB_ID } from '../ledger/job.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { JobSearch } from '../ledger/search.ts'
import { openSights } from '../live/sights.ts'
import { liveTopic, type LiveTopic, type SendLive } from '../live/topic.ts'
import type { Loop } from '../loop.ts'
import { groupBy } from '../values/group-by.ts'
import { firstIdAt } from '../ledger/job.ts'
import { JobFilterFields, searchOf } from './job-filter.ts'
import { summaryOf } from './job-schema.ts'

const EVERY_MS = 1000
const IN_SIGHT_MAX = 200
const NEW_MAX = 100
const LATE_MS = 5000

const JobId = Type.String({ pattern: JOB_ID.source })
const JobsParams = Type.Object(
  { filter: Type.Object(JobFilterFields, { additionalProperties: false }), newest: Type.Optional(JobId) },
  { additionalProperties: false },
)
const StatesParams = Type.Object(
  { job_ids: Type.Array(JobId, { maxItems: IN_SIGHT_MAX }) },
  { additionalProperties: false },
)

interface Watcher {
  search: JobSearch
  /** The first look begins after the newest job that the page has, each other some seconds back: a commit may take so long. */
  since: string
  sent: Set<string>
  send: SendLive
}

export interface LiveJobs {
  topics: readonly LiveTopic[]
  loop: Loop
}

export function openLiveJobs(ledger: Pick<Ledger, 'search' | 'summaries'>, clock: Clock = systemClock): LiveJobs {
  const watchers = new Set<Watcher>()
  const sights = openSights(
    async (jobIds) => new Map((await ledger.summaries(jobIds)).map((job) => [job.jobId, summaryOf(job)])),
  )

  const jobs = liveTopic({
    name: 'jobs',
    roles: ['ADMIN'],
    params: JobsParams,
    open: async ({ params: { filter, newest }, send }) => {
      const search = searchOf(filter)
      const since = newest ?? firstIdAt(clock.now() - LATE_MS)
      const watcher = { search, since, sent: new Set(newest === undefined ? [] : [newest]), send }
      watchers.add(watcher)
      return { ok: true, close: () => watchers.delete(watcher) }
    },
  })
  const states = liveTopic({
    name: 'job_states',
    roles: ['ADMIN'],
    params: StatesParams,
    open: async ({ params: { job_ids: jobIds }, send }) =>
      sights.open(jobIds, (changed) => send('changed', { jobs: changed })),
  })

  return {
    topics: [jobs, states],
    loop: {
      name: 'watch-jobs-for-pages',
      everyMs: EVERY_MS,
      async runOnce() {
        await sights.look()
        await sendNew(ledger, watchers, clock.now())
        return false
      },
    },
  }
}

/** `new`: these go on top of the list. `reset`: too many to send; the page loads its list again. */
async function sendNew(ledger: Pick<Ledger, 'search'>, watchers: ReadonlySet<Watcher>, now: number): Promise<void> {
  const next = firstIdAt(now - LATE_MS)
  const groups = groupBy([...watchers], ({ search, since }) => JSON.stringify([search, since]))
  for (const group of groups.values()) {
    const [{ search, since } = { search: {}, since: next }] = group
    const found = await ledger.search({ ...search, since: latest(since, search.since) }, NEW_MAX)
    for (const watcher of group) {
      const fresh = found.jobs.filter(({ jobId }) => !watcher.sent.has(jobId))
      if (found.next !== null) watcher.send('reset', null)
      else if (fresh.length > 0) watcher.send('new', { jobs: fresh.map(summaryOf) })
      watcher.sent = new Set(found.jobs.map(({ jobId }) => jobId).filter((jobId) => jobId >= next))
      watcher.since = latest(next, watcher.since)
    }
  }
}

const latest = (one: string, other: string | undefined): string => (other === undefined || one > other ? one : other)
