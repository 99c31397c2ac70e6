// GET /stats: counts of waiting work and callbacks, computed at most once a second.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Clock } from '../../../core/clock.ts'
import type { Database } from '../../../core/db/database.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { CALLBACK_TOPIC } from '../deliveries/delivery.ts'
import { SOLVE_KIND } from './accept.ts'

// Only pending and dead rows: each has a partial index.
const COUNT_CALLBACKS = `
  select status, count(*)::integer as count from outbox_events
   where topic = $1 and status in ('pending', 'dead') group by status`

const KEPT_MS = 1000

const Stats = Type.Object({
  pending: Type.Integer(),
  processing: Type.Integer(),
  dead: Type.Integer(),
  callbacks_pending: Type.Integer(),
  callbacks_dead: Type.Integer(),
})

export const statsRoute =
  ({ database, ledger, clock }: { database: Database; ledger: Ledger; clock: Clock }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const count = async () => {
      const jobs = (await ledger.count()).filter(({ kind }) => kind === SOLVE_KIND)
      const callbacks = await database.query<{ status: string; count: number }>(COUNT_CALLBACKS, [CALLBACK_TOPIC])
      const jobsIn = (state: string) => jobs.find((row) => row.state === state)?.count ?? 0
      const callbacksIn = (status: string) => callbacks.find((row) => row.status === status)?.count ?? 0
      return {
        pending: jobsIn('pending'),
        processing: jobsIn('processing'),
        dead: jobsIn('dead'),
        callbacks_pending: callbacksIn('pending'),
        callbacks_dead: callbacksIn('dead'),
      }
    }
    let counted: ReturnType<typeof count> | null = null
    let countedAt = 0

    const summary = 'Counts of waiting problems and callbacks.'
    app.get('/stats', { schema: { tags: ['challenge'], summary, response: { 200: Stats } } }, async () => {
      if (counted === null || clock.now() - countedAt > KEPT_MS) {
        countedAt = clock.now()
        counted = count()
        counted.catch(() => (counted = null))
      }
      return counted
    })
  }
