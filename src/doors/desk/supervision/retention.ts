// How long things are kept: solutions, screenshots and pictures of tasks that ended a while ago are thrown away; the task
// and its trail stay.
import type { Database } from '../../../core/db/database.ts'
import type { FileStore } from '../../../core/files/file-store.ts'
import { previewKey } from '../tasks/preview-store.ts'

const FIND_KEPT = `
  select uuid, preview_type is not null as has_preview from captcha_task
   where ended_at <= statement_timestamp() - $1 * interval '1 hour'
     and (solver_result is not null or preview_type is not null or images is not null)
   order by ended_at limit $2`
const FORGET = `
  update captcha_task set solver_result = null, preview_type = null, images = null
   where uuid = any ($1::uuid[]) and ended_at is not null`

const BATCH = 200

export interface Keeper {
  database: Database
  settings: { CAPTCHA_KEEP_HOURS: number }
  previews: Pick<FileStore, 'delete'>
}

export async function sweepKept({ database, settings, previews }: Keeper): Promise<boolean> {
  type Kept = { uuid: string; has_preview: boolean }
  const found = await database.query<Kept>(FIND_KEPT, [settings.CAPTCHA_KEEP_HOURS, BATCH])
  for (const { uuid } of found.filter((task) => task.has_preview)) await previews.delete(previewKey(uuid))
  if (found.length > 0) await database.query(FORGET, [found.map(({ uuid }) => uuid)])
  return found.length === BATCH
}
