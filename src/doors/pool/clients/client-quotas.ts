// How much a client may have under way: jobs that have not ended, and the bytes of their payloads.
import type { Database } from '../../../core/db/database.ts'
import type { QuotaAnswer } from '../../../core/quotas/quota.ts'
import type { Quotas } from '../../../core/quotas/quotas.ts'

// A replicated job counts once, and its payload is stored once.
const COUNT = `
  select client_id, count(*)::integer as jobs, sum(payload_bytes)::float8 as bytes
    from (select c.client_id, t.payload_bytes
            from pool_requirement_classes c join pool_tasks t on t.class_id = c.class_id
           where c.client_id = any($1::bigint[]) and t.quorum_id is null
          union all
          select c.client_id, q.payload_bytes
            from pool_requirement_classes c join pool_quorums q on q.class_id = c.class_id and q.ended_at is null
           where c.client_id = any($1::bigint[])) as open
   group by client_id`

export interface ClientUsage {
  jobs: number
  bytes: number
}

export interface ClientQuotas {
  /** Refuses, or counts the jobs as accepted. */
  take(clientId: number, wanted: ClientUsage): Promise<QuotaAnswer>
}

export interface ClientQuotaDeps {
  database: Database
  quotas: Quotas
}

export function openClientQuotas({ database, quotas }: ClientQuotaDeps): ClientQuotas {
  const countBy = (of: keyof ClientUsage) => async (clientIds: readonly number[]) => {
    const rows = await database.query<ClientUsage & { client_id: string }>(COUNT, [clientIds])
    return new Map(rows.map((row) => [Number(row.client_id), row[of]]))
  }
  const jobs = quotas.open('jobs_waiting', countBy('jobs'))
  const bytes = quotas.open('stored_bytes', countBy('bytes'))
  return {
    async take(clientId, wanted) {
      const answer = await jobs.take(clientId, wanted.jobs)
      return answer.ok ? bytes.take(clientId, wanted.bytes) : answer
    },
  }
}
