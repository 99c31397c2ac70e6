// GET /stats: counts of waiting work and callbacks, computed at most once a second.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Clock } from '../../../core/clock.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { Outbox } from '../../../core/outbox/outbox.ts'
import { CALLBACK_TOPIC } from '../deliveries/topics.ts'
import { SOLVE_KIND } from './accept.ts'

const KEPT_MS = 1000

const Stats = Type.Object({
  pending: Type.Integer(),
  processing: Type.Integer(),
  dead: Type.Integer(),
  callbacks_pending: Type.Integer(),
  callbacks_dead: Type.Integer(),
})

export const statsRoute =
  ({ outbox, ledger, clock }: { outbox: Outbox; ledger: Ledger; clock: Clock }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const count = async () => {
      const jobs = (await ledger.count()).filter(({ kind }) => kind === SOLVE_KIND)
      const callbacks = await outbox.count(CALLBACK_TOPIC)
      const jobsIn = (state: string) => jobs.find((row) => row.state === state)?.count ?? 0
      return {
        pending: jobsIn('pending'),
        processing: jobsIn('processing'),
        dead: jobsIn('dead'),
        callbacks_pending: callbacks.pending,
        callbacks_dead: callbacks.dead,
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
