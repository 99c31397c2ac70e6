import type { Contestant } from './contestant.ts'
import { bullmq } from './contestants/bullmq.ts'
import { graphileWorker } from './contestants/graphile-worker.ts'
import { pgBoss } from './contestants/pg-boss.ts'
import { reevePostgres, reeveRedis, reeveRedisDeleting } from './contestants/reeve.ts'

export const CONTESTANTS: readonly Contestant[] = [
  reevePostgres,
  reeveRedis,
  reeveRedisDeleting,
  graphileWorker,
  pgBoss,
  bullmq,
]
