// What could be given now: the lanes in which something waits, and the first of each.
import type { Database } from '../../../core/db/database.ts'
import { moment } from '../moment.ts'

// From one lane to the next, without looking at what is in between.
const OPEN_LANES = `
  with recursive lane as (
    (select lane_id from pool_tasks where worker_id is null and lane_id > $1
      order by lane_id, priority desc, accepted_at, job_id limit 1)
    union all
    (select (select t.lane_id from pool_tasks t where t.worker_id is null and t.lane_id > lane.lane_id
              order by t.lane_id, t.priority desc, t.accepted_at, t.job_id limit 1)
       from lane where lane.lane_id is not null)
  )
  select lane_id from lane where lane_id is not null limit $2`

// A replica is only of use to an owner that has no other one of the same job; and of those who have proved nothing yet, one
// job gets fewer than could agree by themselves.
const HEADS = `
  select t.lane_id, t.job_id, t.priority, t.accepted_at, t.quorum_id, t.quorum,
         case when t.quorum_id is not null then array(
           select p.owner_id from pool_parts p where p.quorum_id = t.quorum_id and p.job_id <> t.job_id) end as owners,
         case when t.quorum_id is not null then (
           select count(*) from pool_parts p
            where p.quorum_id = t.quorum_id and p.job_id <> t.job_id and not p.is_trusted)::integer end as untrusted,
         ${moment(`clock_timestamp() + $4 * interval '1 second'`)} as lease_until
    from json_to_recordset($1) as l (lane_id bigint, heads integer)
   cross join lateral (
     select * from pool_tasks
      where pool_tasks.worker_id is null and pool_tasks.lane_id = l.lane_id
        and (quorum_id is null or exists (
          select from unnest($2::bigint[], $3::boolean[]) as o (owner_id, is_trusted)
           where not exists (
                   select from pool_parts p
                    where p.quorum_id = pool_tasks.quorum_id and p.owner_id = o.owner_id and p.job_id <> pool_tasks.job_id)
             and (o.is_trusted or pool_tasks.quorum < 2 or (
                   select count(*) from pool_parts p
                    where p.quorum_id = pool_tasks.quorum_id and p.job_id <> pool_tasks.job_id and not p.is_trusted)
                   < pool_tasks.quorum - 1)))
      order by pool_tasks.lane_id, priority desc, accepted_at, job_id limit l.heads) as t`

const CANARIES = `
  select t.lane_id, t.job_id, t.priority, t.canary_id,
         array(select u.worker_id from pool_canary_uses u
                where u.canary_id = t.canary_id and u.worker_id = any($2::bigint[])) as used_by,
         ${moment(`clock_timestamp() + $3 * interval '1 second'`)} as lease_until
    from pool_tasks t
   where t.worker_id is null and t.lane_id = any($1::bigint[])
   order by t.lane_id, t.priority desc, t.accepted_at, t.job_id limit $4`

const LANES_MAX = 2000
const CANARIES_MAX = 500

export interface Head {
  laneId: number
  jobId: string
  priority: number
  acceptedAt: number
  leaseUntil: string
  /** Of a replica: who has another one of the same job, and how many of those are not trusted. */
  replica: { quorumId: string; quorum: number; owners: readonly number[]; untrusted: number } | null
}

export interface WaitingCanary {
  laneId: number
  jobId: string
  priority: number
  canaryId: number
  leaseUntil: string
  usedBy: ReadonlySet<number>
}

export interface Asking {
  ownerId: number
  isTrusted: boolean
}

export interface Candidates {
  /** In the order of their ids, after that of the last page; `next` is 0 at the end. */
  openLanes(after: number): Promise<{ laneIds: number[]; next: number }>
  heads(lanes: readonly { laneId: number; heads: number }[], asking: readonly Asking[]): Promise<Head[]>
  canaries(laneIds: readonly number[], workerIds: readonly number[]): Promise<WaitingCanary[]>
}

export function openCandidates({ database, leaseSec }: { database: Database; leaseSec: number }): Candidates {
  const { hot } = database
  return {
    async openLanes(after) {
      const rows = await hot.query<{ lane_id: string }>(OPEN_LANES, [after, LANES_MAX])
      const laneIds = rows.map((row) => Number(row.lane_id))
      return { laneIds, next: laneIds.length < LANES_MAX ? 0 : (laneIds.at(-1) ?? 0) }
    },
    async heads(lanes, asking) {
      const params = [
        JSON.stringify(lanes.map(({ laneId, heads }) => ({ lane_id: laneId, heads }))),
        asking.map(({ ownerId }) => ownerId),
        asking.map(({ isTrusted }) => isTrusted),
        leaseSec,
      ]
      return (await hot.query<HeadRow>(HEADS, params)).map(headFrom)
    },
    async canaries(laneIds, workerIds) {
      const rows = await hot.query<CanaryRow>(CANARIES, [laneIds, workerIds, leaseSec, CANARIES_MAX])
      return rows.map((row) => ({
        laneId: Number(row.lane_id),
        jobId: row.job_id,
        priority: row.priority,
        canaryId: Number(row.canary_id),
        leaseUntil: row.lease_until,
        usedBy: new Set(row.used_by.map(Number)),
      }))
    },
  }
}

interface HeadRow {
  lane_id: string
  job_id: string
  priority: number
  accepted_at: Date
  quorum_id: string | null
  quorum: number | null
  owners: string[] | null
  untrusted: number | null
  lease_until: string
}

interface CanaryRow {
  lane_id: string
  job_id: string
  priority: number
  canary_id: string
  used_by: string[]
  lease_until: string
}

const headFrom = (row: HeadRow): Head => ({
  laneId: Number(row.lane_id),
  jobId: row.job_id,
  priority: row.priority,
  acceptedAt: row.accepted_at.getTime(),
  leaseUntil: row.lease_until,
  replica:
    row.quorum_id === null
      ? null
      : {
          quorumId: row.quorum_id,
          quorum: row.quorum ?? 1,
          owners: (row.owners ?? []).map(Number),
          untrusted: row.untrusted ?? 0,
        },
})
