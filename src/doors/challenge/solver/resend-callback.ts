// A Challenger that lost a result asks for it again by repeating /solve (clause 3.6): the stored callback is queued again,
// with its body and X-Request-ID, once it was delivered or is dead, and at most once a minute.
import type { Database } from '../../../core/db/database.ts'
import type { Outbox } from '../../../core/outbox/outbox.ts'
import { CALLBACK_TOPIC } from '../deliveries/topics.ts'

const LOCK = `
  select job_id from solve_requests
   where challenge_id = $1 and finished_at is not null
     and (resent_at is null or resent_at < clock_timestamp() - interval '1 minute')
     for update`

const MARK = `update solve_requests set resent_at = clock_timestamp() where challenge_id = $1`

export type ResendCallback = (challengeId: string) => Promise<void>

export const openResendCallback =
  ({ database, outbox }: { database: Database; outbox: Pick<Outbox, 'resendIn' | 'wake'> }): ResendCallback =>
  async (challengeId) => {
    const isQueued = await database.transaction(async (tx) => {
      const [request] = await tx.query<{ job_id: string }>(LOCK, [challengeId])
      if (request === undefined || !(await outbox.resendIn(tx, CALLBACK_TOPIC, request.job_id))) return false
      await tx.query(MARK, [challengeId])
      return true
    })
    if (isQueued) outbox.wake()
  }
