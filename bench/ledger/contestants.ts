import type { Contestant } from './contestant.ts'
import { bullmq } from './contestants/bullmq.ts'
import { graphileWorker } from './contestants/graphile-worker.ts'
import { pgBoss } from './contestants/pg-boss.ts'

export const CONTESTANTS: readonly Contestant[] = [graphileWorker, pgBoss, bullmq]
