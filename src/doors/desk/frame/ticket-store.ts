// Which ticket opens the frame of a task: the newest, once.
import type { Database } from '../../../core/db/database.ts'
import { hashSecret } from '../../../core/identity/secrets.ts'

const KEEP = `update captcha_task set frame_ticket = $2 where uuid = $1`
const SPEND = `update captcha_task set frame_ticket = null where uuid = $1 and frame_ticket = $2 returning uuid`

/** Takes the place of the one before it. */
export async function keepTicket(database: Database, uuid: string, ticket: string): Promise<void> {
  await database.query(KEEP, [uuid, hashSecret(ticket)])
}

/** False: it was used, or a newer one was issued. */
export const spendTicket = async (database: Database, uuid: string, ticket: string): Promise<boolean> =>
  (await database.query(SPEND, [uuid, hashSecret(ticket)])).length === 1
