// Solutions, screenshots and pictures of tasks that ended CAPTCHA_KEEP_HOURS ago are deleted; the task and its audit trail stay.
import type { Queryable } from '../../../core/db/database.ts'
import type { FileStore } from '../../../core/files/file-store.ts'
import type { DeskSettings } from '../settings.ts'
import { previewKey } from '../tasks/preview.ts'

const FIND_OLD = `
  select uuid, preview_type is not null as has_preview from captcha_task
   where ended_at <= statement_timestamp() - $1 * interval '1 hour'
     and (solver_result is not null or preview_type is not null or images is not null)
   order by ended_at limit $2`
const PRUNE = `
  update captcha_task set solver_result = null, preview_type = null, images = null
   where uuid = any ($1::uuid[]) and ended_at is not null`

const BATCH = 200

export interface PruneParts {
  database: Queryable
  settings: Pick<DeskSettings, 'CAPTCHA_KEEP_HOURS'>
  previews: Pick<FileStore, 'delete'>
}

export async function pruneSolutions({ database, settings, previews }: PruneParts): Promise<boolean> {
  type OldTask = { uuid: string; has_preview: boolean }
  const found = await database.query<OldTask>(FIND_OLD, [settings.CAPTCHA_KEEP_HOURS, BATCH])
  for (const { uuid } of found.filter((task) => task.has_preview)) await previews.delete(previewKey(uuid))
  if (found.length > 0) await database.query(PRUNE, [found.map(({ uuid }) => uuid)])
  return found.length === BATCH
}
