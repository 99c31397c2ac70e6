// What the client of a replicated job sees beside its result: when the first replica started, and the votes. Calls at the same time
// share a statement.
import { batched } from '../../../core/db/batch.ts'
import type { Database } from '../../../core/db/database.ts'
import { timestampText } from '../wire.ts'

const VIEWS = `
  select asked.job_id,
         (select ${timestampText('min(a.assigned_at)')} from pool_assignments a where a.quorum_id = asked.job_id) as started_at,
         coalesce((select json_agg(json_build_object(
                            'assignment_id', r.assignment_id, 'worker_id', r.worker_id, 'status', r.status,
                            'output_hash', coalesce(r.computed_hash, r.output_hash), 'verdict', r.verdict)
                            order by r.finished_at, r.assignment_id)
                     from pool_results r where r.quorum_id = asked.job_id and r.is_final), '[]') as votes
    from unnest($1::uuid[]) as asked (job_id)`

export interface QuorumView {
  startedAt: string | null
  votes: readonly object[]
}

export type QuorumViews = (quorumId: string) => Promise<QuorumView>

export function openQuorumViews({ hot }: Database): QuorumViews {
  type Row = { job_id: string; started_at: string | null; votes: object[] }
  return batched<string, QuorumView>({
    keyOf: (quorumId) => quorumId,
    async run(quorumIds) {
      const rows = await hot.query<Row>(VIEWS, [quorumIds])
      const viewOf = new Map(rows.map((row) => [row.job_id, { startedAt: row.started_at, votes: row.votes }]))
      return quorumIds.map((quorumId) => viewOf.get(quorumId) ?? { startedAt: null, votes: [] })
    },
  })
}
