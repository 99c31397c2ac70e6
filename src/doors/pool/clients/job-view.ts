// A job as its client sees it.
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { Database } from '../../../core/db/database.ts'
import type { Job } from '../../../core/ledger/job.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { accountOf } from '../../../core/http/auth/guard.ts'
import { parseJobId } from '../../../core/ledger/job.ts'
import { poolError } from '../errors.ts'
import { statusOfDeath } from '../tasks/kinds.ts'
import { clientPayloadOf, QUORUM_KIND, type ClientPayload } from '../tasks/payload.ts'
import type { QuorumView, QuorumViews } from '../quorum/quorum-views.ts'
import { timestampOf } from '../wire.ts'
import type { JobResults } from './job-results.ts'

// A lease that has expired holds nothing: the job waits again, before anybody has noticed.
const IS_LEASED = `select $1::timestamptz > clock_timestamp() as held`
const IS_REPLICA_HELD = `
  select exists (
    select from pool_tasks t join pool_workers w on w.worker_id = t.worker_id
     where t.quorum_id = $1 and w.last_seen_at > clock_timestamp() - t.held_lease_ms * interval '1 ms') as held`

export const JobBrief = Type.Object({ job_id: Type.String(), status: Type.String() })
export const JobView = Type.Object({ job_id: Type.String(), status: Type.String() }, { additionalProperties: true })
export const JobPath = Type.Object({ id: Type.String({ maxLength: 512 }) })

export type ClientStatus = 'pending' | 'running' | 'completed' | 'failed' | 'cancelled' | 'timed_out'

/** A job that a client submitted: not a replica, not a canary. */
export interface ClientJob {
  job: Job
  payload: ClientPayload
}

/** Null: not a job of this client. */
export function clientJob(job: Job | null, clientId: number): ClientJob | null {
  const payload = job === null || job.accountId !== clientId ? null : clientPayloadOf(job)
  return job === null || payload === null ? null : { job, payload }
}

/** The job that the path names, or 404. */
export async function ownJob(ledger: Ledger, request: FastifyRequest<{ Params: { id: string } }>): Promise<ClientJob> {
  const jobId = parseJobId(request.params.id)
  const found = jobId === null ? null : clientJob(await ledger.get(jobId), accountOf(request).accountId)
  if (found === null) throw poolError('job_not_found')
  return found
}

export async function statusOf(database: Database, job: Omit<Job, 'payload'>): Promise<ClientStatus> {
  switch (job.state) {
    case 'dead':
      return statusOfDeath(job.reason)
    case 'done':
      return summaryOf(job).status
    case 'processing':
    case 'pending': {
      if (job.kind !== QUORUM_KIND && job.leaseUntil === null) return 'pending'
      const [row] = await (job.kind === QUORUM_KIND
        ? database.query<{ held: boolean }>(IS_REPLICA_HELD, [job.jobId])
        : database.query<{ held: boolean }>(IS_LEASED, [job.leaseUntil]))
      return row?.held === true ? 'running' : 'pending'
    }
  }
}

/** What the ledger keeps as the result. */
function summaryOf({ result }: Pick<Job, 'result'>) {
  const fields: Record<string, unknown> = typeof result === 'object' && result !== null ? { ...result } : {}
  const { status, assignment_id: assignmentId, error_message: errorMessage, finished_at: finishedAt } = fields
  return {
    status: status === 'failed' ? ('failed' as const) : ('completed' as const),
    assignmentId: typeof assignmentId === 'number' ? assignmentId : null,
    errorMessage: typeof errorMessage === 'string' ? errorMessage : null,
    finishedAt: typeof finishedAt === 'string' ? finishedAt : null,
  }
}

export interface JobViewDeps {
  database: Database
  results: JobResults
  quorums: QuorumViews
}

/** The ledger knows when a replicated job was decided; it started with its first replica. */
export async function viewOf({ database, results, quorums }: JobViewDeps, client: ClientJob): Promise<object> {
  const { job, payload } = client
  const summary = job.state === 'done' ? summaryOf(job) : null
  const { assignmentId = null } = summary ?? {}
  const [status, result, { startedAt, votes }] = await Promise.all([
    statusOf(database, job),
    assignmentId === null ? null : results(assignmentId),
    job.kind === QUORUM_KIND ? quorums(job.jobId) : plainView(job),
  ])
  return {
    job_id: job.jobId,
    status,
    priority: job.priority,
    replicas: payload.replicas,
    quorum: payload.quorum,
    max_attempts: payload.max_attempts,
    ...(payload.agree === null ? {} : { agree: payload.agree }),
    requirements: { region: payload.region, specs: payload.specs },
    created_at: timestampOf(job.submittedAt),
    started_at: status === 'pending' ? null : startedAt,
    finished_at: summary?.finishedAt ?? (job.finishedAt === null ? null : timestampOf(job.finishedAt)),
    error_message: job.reason ?? summary?.errorMessage ?? result?.error_message ?? null,
    result,
    votes,
  }
}

const plainView = ({ startedAt }: Job): QuorumView => ({
  startedAt: startedAt === null ? null : timestampOf(startedAt),
  votes: [],
})
