// DELETE /expired: what nobody claimed in time expires now, without waiting for the loop; then the pictures of all that has
// expired are thrown away. Each task is counted in one cleaning. The tasks themselves stay, as history.
import type { Desk } from '../desk.ts'
import { previewKey } from '../tasks/preview-store.ts'
import { sweepLapsed, sweepUnclaimed } from './sweeps.ts'

const CLEAN = `
  with uncleaned as materialized (
    select uuid, preview_type from captcha_task where status = 'expired' and cleaned_at is null limit $1 for update skip locked
  )
  update captcha_task set cleaned_at = clock_timestamp(), images = null, preview_type = null
    from uncleaned where captcha_task.uuid = uncleaned.uuid
  returning captcha_task.uuid, uncleaned.preview_type is not null as had_preview`

const BATCH = 500

export async function cleanUp(desk: Desk): Promise<number> {
  while (await sweepLapsed(desk));
  while (await sweepUnclaimed(desk));
  let count = 0
  for (;;) {
    const cleaned = await desk.database.query<{ uuid: string; had_preview: boolean }>(CLEAN, [BATCH])
    for (const { uuid } of cleaned.filter((task) => task.had_preview)) await desk.previews.delete(previewKey(uuid))
    count += cleaned.length
    if (cleaned.length < BATCH) return count
  }
}
