// The recorded result of a job, as its client sees it. Calls at the same time share a statement.
import { batched } from '../../../core/db/batch.ts'
import type { Database } from '../../../core/db/database.ts'
import { rawOrNull, timestampText, type RawJson } from '../wire.ts'

const RESULTS = `
  select r.assignment_id, r.worker_id, r.status, r.output::text as output, r.output_hash, r.computed_hash, r.error_message,
         r.artifact_uri, r.metrics::text as metrics, ${timestampText('r.finished_at')} as finished_at
    from pool_results r where r.assignment_id = any($1::bigint[])`

const ROWS_MAX = 50 // an output has up to 5 MB

export interface JobResult {
  assignment_id: number
  worker_id: number
  status: string
  output: RawJson | null
  output_hash: string | null
  output_hash_matches: boolean | null
  error_message: string | null
  artifact_uri: string | null
  metrics_json: RawJson | null
  finished_at: string
}

/** Null: there is none. */
export type JobResults = (assignmentId: number) => Promise<JobResult | null>

export function openJobResults({ hot }: Database): JobResults {
  const read = batched<number, { result: JobResult | null }>({
    rowsMax: ROWS_MAX,
    async run(assignmentIds) {
      const rows = await hot.query<JobResultRow>(RESULTS, [assignmentIds])
      const resultOf = new Map(rows.map((row) => [Number(row.assignment_id), resultFrom(row)]))
      return assignmentIds.map((assignmentId) => ({ result: resultOf.get(assignmentId) ?? null }))
    },
  })
  return async (assignmentId) => (await read(assignmentId)).result
}

interface JobResultRow {
  assignment_id: string
  worker_id: string
  status: string
  output: string | null
  output_hash: string | null
  computed_hash: string | null
  error_message: string | null
  artifact_uri: string | null
  metrics: string | null
  finished_at: string
}

function resultFrom(row: JobResultRow): JobResult {
  const { output_hash: claimed, computed_hash: computed } = row
  return {
    assignment_id: Number(row.assignment_id),
    worker_id: Number(row.worker_id),
    status: row.status,
    output: rawOrNull(row.output),
    output_hash: claimed,
    output_hash_matches: claimed === null || computed === null ? null : claimed === computed,
    error_message: row.error_message,
    artifact_uri: row.artifact_uri,
    metrics_json: rawOrNull(row.metrics),
    finished_at: row.finished_at,
  }
}
