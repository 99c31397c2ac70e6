// DELETE /expired: expires what nobody claimed in time without waiting for the loop, then deletes the pictures of expired tasks. Each
// task is counted in one clean-up. The tasks themselves stay, as history.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { audit } from '../changes/audit.ts'
import type { Desk } from '../desk.ts'
import { actorOf, deskGuard, type GuardParts } from '../guard.ts'
import { previewKey } from '../tasks/preview.ts'
import { sweepLapsed, sweepUnclaimed, type SweepParts } from './sweeps.ts'

const CLEAN = `
  with uncleaned as materialized (
    select uuid, preview_type from captcha_task where status = 'expired' and cleaned_at is null limit $1 for update skip locked
  )
  update captcha_task set cleaned_at = clock_timestamp(), images = null, preview_type = null
    from uncleaned where captcha_task.uuid = uncleaned.uuid
  returning captcha_task.uuid, uncleaned.preview_type is not null as had_preview`

const BATCH = 500

const CleanedUp = Type.Object({ expired_count: Type.Integer(), message: Type.String() })

type CleanUpParts = SweepParts & Pick<Desk, 'previews'>

export const cleanUpRoute =
  (parts: GuardParts & CleanUpParts): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.delete(
      '/api/v1/captcha/expired',
      {
        onRequest: deskGuard(parts, 'ADMIN'),
        schema: {
          tags: ['desk'],
          security: SECURED,
          summary: 'Expire what is due now, and clean up after all expired tasks.',
          response: { 200: CleanedUp, ...refusals(401, 403) },
        },
      },
      async (request) => {
        const count = await cleanUp(parts)
        await audit(parts.database, { action: 'cleaned_up', actor: actorOf(request), detail: `${count}` })
        return { expired_count: count, message: 'Cleanup completed' }
      },
    )
  }

async function cleanUp(parts: CleanUpParts): Promise<number> {
  const { database, previews } = parts
  while (await sweepLapsed(parts));
  while (await sweepUnclaimed(parts));
  let count = 0
  for (;;) {
    const cleaned = await database.query<{ uuid: string; had_preview: boolean }>(CLEAN, [BATCH])
    for (const { uuid } of cleaned.filter((task) => task.had_preview)) await previews.delete(previewKey(uuid))
    count += cleaned.length
    if (cleaned.length < BATCH) return count
  }
}
