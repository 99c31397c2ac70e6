// GET /v1/jobs/{id}/why: the eligibility rule that keeps a job waiting, in words, with counts.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Database } from '../../../core/db/database.ts'
import { refusals } from '../../../core/http/errors/detail.ts'
import { isObject } from '../../../core/values/is-object.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { CanaryStock } from '../canaries/canary-stock.ts'
import { hasSpecs, isInRegion, type WorkerProfile } from '../tasks/requirements.ts'
import { documented } from '../wire.ts'
import { JobPath, ownJob, statusOf, type ClientJob } from './job-view.ts'

// Workers that compare equal are counted together.
const WORKERS = `
  select region, specs::text as specs, banned_at is not null as banned,
         coalesce(last_seen_at > clock_timestamp() - coalesce(lease_seconds, $1) * interval '1 second', false) as online,
         exists (select from pool_tasks t where t.worker_id = w.worker_id) as busy,
         exists (select from pool_parts p where p.quorum_id = $2 and p.owner_id = w.owner_id) as took_part,
         count(*)::integer as count
    from pool_workers w where w.removed_at is null group by 1, 2, 3, 4, 5, 6 limit $3`

const TASKS = `
  select count(*) filter (where t.worker_id is null)::integer as waiting,
         count(*) filter (where t.worker_id is not null)::integer as held,
         coalesce(max((select count(*) from pool_tasks o
                        where o.worker_id is null and o.class_id = t.class_id and o.job_id <> t.job_id
                          and (o.priority > t.priority or o.priority = t.priority and o.accepted_at < t.accepted_at))
                     ) filter (where t.worker_id is null), 0)::integer as ahead
    from pool_tasks t where t.job_id = $1 or t.quorum_id = $1`

const GROUPS_MAX = 20_000

const Count = Type.Integer()
const Why = Type.Object({
  job_id: Type.String(),
  status: Type.String(),
  reasons: Type.Array(Type.String()),
  workers: Type.Object({
    registered: Count,
    banned: Count,
    online: Count,
    in_region: Count,
    with_specs: Count,
    idle: Count,
  }),
})

interface WorkerGroup extends WorkerProfile {
  banned: boolean
  online: boolean
  busy: boolean
  tookPart: boolean
  count: number
}

interface TaskCounts {
  waiting: number
  held: number
  ahead: number
}

export interface WhyDeps {
  database: Database
  leaseSec: number
  canaries: CanaryStock
}

export const whyRoute =
  ({ ledger, ...deps }: WhyDeps & { ledger: Ledger }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      ...documented,
      summary: 'What keeps a job of mine waiting.',
      params: JobPath,
      response: { 200: Why, ...refusals(401, 403, 404) },
    }
    app.get('/v1/jobs/:id/why', { schema }, async (request) => explain(deps, await ownJob(ledger, request)))
  }

async function explain({ database, leaseSec, canaries }: WhyDeps, client: ClientJob) {
  const { job, payload: required } = client
  await canaries.ready()
  const groups = await readWorkers(database, leaseSec, job.jobId)
  const [tasks = { waiting: 0, held: 0, ahead: 0 }] = await database.query<TaskCounts>(TASKS, [job.jobId])

  const online = groups.filter(({ online: isOnline, banned }) => isOnline && !banned)
  const inRegion = online.filter((group) => isInRegion(required, group))
  const withSpecs = inRegion.filter((group) => hasSpecs(required, group))
  const ofOthers = withSpecs.filter(({ tookPart }) => !tookPart)
  const idle = ofOthers.filter(({ busy }) => !busy)
  const counts = {
    registered: sum(groups),
    banned: sum(groups.filter(({ banned }) => banned)),
    online: sum(online),
    in_region: sum(inRegion),
    with_specs: sum(withSpecs),
    idle: sum(idle),
  }
  const status = await statusOf(database, client.job)
  const hasEnded = status !== 'pending' && status !== 'running'
  const reasons = hasEnded
    ? [`The job does not wait: it is ${status}.`]
    : tasks.waiting === 0
      ? [tasks.held === 0 ? 'The job is being settled.' : `${workers(tasks.held)} working on it.`]
      : [
          ...waitingReasons(client, counts, { ...tasks, ofOthers: sum(ofOthers) }),
          ...(idle.some((group) => canaries.countFor(group) > 0) ? trustReason(client) : []),
        ]
  return { job_id: job.jobId, status, reasons, workers: counts }
}

type WorkerCounts = {
  registered: number
  banned: number
  online: number
  in_region: number
  with_specs: number
  idle: number
}

/** The first rule that no worker meets, or the jobs that are served before this one. */
function waitingReasons(
  { payload }: ClientJob,
  counts: WorkerCounts,
  tasks: TaskCounts & { ofOthers: number },
): string[] {
  const { region, specs, replicas } = payload
  const part =
    replicas === 1
      ? []
      : [
          `${tasks.waiting} of its replicas ${tasks.waiting === 1 ? 'waits' : 'wait'}, ${tasks.held} ${tasks.held === 1 ? 'is' : 'are'} being worked on.`,
        ]
  if (counts.registered === 0) return [...part, 'No worker is registered.']
  if (counts.online === 0) {
    const banned = counts.banned === 0 ? '' : `, ${counts.banned} banned`
    return [...part, `${countedWorkers(counts.registered)} registered${banned}, 0 online.`]
  }
  if (counts.in_region === 0) return [...part, `${workersOnline(counts.online)}, 0 in region ${region}.`]
  if (counts.with_specs === 0) {
    const where = region === null ? workersOnline(counts.online) : `${counts.in_region} online in region ${region}`
    return [...part, `${where}, 0 with the specs ${JSON.stringify(specs)}.`]
  }
  if (tasks.ofOthers === 0) {
    return [...part, `${counts.with_specs} eligible online, 0 of an owner that has no replica of this job yet.`]
  }
  if (counts.idle === 0) {
    return [...part, `${tasks.ofOthers} eligible online, 0 idle; ${jobsAhead(tasks.ahead)}.`]
  }
  return [...part, `${counts.idle} eligible and idle; ${jobsAhead(tasks.ahead)}.`]
}

/** Probation exists only where there are canaries to pass. */
const trustReason = ({ payload: { quorum, replicas } }: ClientJob): string[] =>
  replicas > 1 && quorum > 1
    ? [
        `At most ${quorum - 1} of its replicas go to workers that are still on probation; the others wait for trusted ones.`,
      ]
    : []

const workers = (count: number): string => (count === 1 ? 'A worker is' : `${count} workers are`)
const jobsAhead = (count: number): string => `${count} of your jobs ${count === 1 ? 'goes' : 'go'} before it`
const countedWorkers = (count: number): string => `${count} ${count === 1 ? 'worker' : 'workers'}`
const workersOnline = (count: number): string => `${countedWorkers(count)} online`
const sum = (groups: readonly { count: number }[]): number => groups.reduce((total, { count }) => total + count, 0)

async function readWorkers(database: Database, leaseSec: number, jobId: string): Promise<WorkerGroup[]> {
  type Row = Omit<WorkerGroup, 'specs' | 'tookPart'> & { specs: string | null; took_part: boolean }
  const rows = await database.query<Row>(WORKERS, [leaseSec, jobId, GROUPS_MAX])
  return rows.map(({ specs, took_part: tookPart, ...row }) => {
    const parsed: unknown = specs === null ? null : JSON.parse(specs)
    return { ...row, tookPart, specs: isObject(parsed) ? parsed : null }
  })
}
