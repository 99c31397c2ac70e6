// What belongs to a pool job, for admins: receipts of its results; of a replicated job, its replicas and how many of them have
// ended; of a replica, the job that waits for it.
import type { Database } from '../../../core/db/database.ts'
import type { Kind } from '../../../core/executor/kind.ts'
import { replicaPayloadOf } from './payload.ts'

const RECEIPTS = `
  select asked.job_id, p.body, p.hash, p.signature
    from unnest($1::uuid[]) as asked (job_id)
    join pool_assignments a on a.job_id = asked.job_id or a.quorum_id = asked.job_id
    join pool_receipts p on p.assignment_id = a.assignment_id
   order by p.number`

const QUORUMS = `
  select q.job_id, greatest(q.replicas, q.issued)::integer as replicas, q.ended_at is not null as has_ended,
         (select count(*) from pool_results r where r.quorum_id = q.job_id and r.is_final)::integer as results,
         array(select job_id from pool_parts where quorum_id = q.job_id
               union select job_id from pool_tasks where quorum_id = q.job_id order by job_id) as parts
    from pool_quorums q where q.job_id = any($1::uuid[])`

type ContextOf = NonNullable<Kind['contextOf']>
type Reading = Pick<Database, 'query'>

export const taskContexts =
  (database: Reading): ContextOf =>
  async (jobs) => {
    const receipts = await receiptsOf(database, idsOf(jobs))
    return new Map(
      jobs.map((job) => {
        const replica = replicaPayloadOf(job)
        const dependents = replica === null ? [] : [replica.quorum_id]
        return [job.jobId, { dependents, receipts: receipts(job.jobId) }]
      }),
    )
  }

export const quorumContexts =
  (database: Reading): ContextOf =>
  async (jobs) => {
    type Row = { job_id: string; replicas: number; has_ended: boolean; results: number; parts: string[] }
    const [receipts, rows] = await Promise.all([
      receiptsOf(database, idsOf(jobs)),
      database.query<Row>(QUORUMS, [idsOf(jobs)]),
    ])
    return new Map(
      rows.map(({ job_id: jobId, replicas, has_ended: hasEnded, results, parts }) => {
        const progress = hasEnded ? null : { done: results, total: replicas, unit: 'results' }
        return [jobId, { progress, waitsFor: parts, receipts: receipts(jobId) }]
      }),
    )
  }

async function receiptsOf(database: Reading, jobIds: readonly string[]): Promise<(jobId: string) => object[]> {
  type Row = { job_id: string; body: string; hash: string; signature: string }
  const rows = await database.query<Row>(RECEIPTS, [jobIds])
  return (wanted) =>
    rows
      .filter((row) => row.job_id === wanted)
      .map(({ body, hash, signature }) => ({ receipt: JSON.parse(body), hash, signature }))
}

const idsOf = (jobs: readonly { jobId: string }[]): string[] => jobs.map(({ jobId }) => jobId)
