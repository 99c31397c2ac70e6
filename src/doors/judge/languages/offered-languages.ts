// Which languages can be judged now. Every process that judges publishes its languages periodically; entries of silent
// processes expire. While no process judges, every language of the table is accepted, and submissions wait.
import type { Database } from '../../../core/db/database.ts'
import type { Loop } from '../../../core/loop.ts'

const SAY = `
  insert into judge_workers (owner, languages) values ($1, $2)
      on conflict (owner) do update set languages = excluded.languages, seen_at = clock_timestamp()`
const FORGET = `delete from judge_workers where seen_at < clock_timestamp() - $1 * interval '1 second'`
const SELECT_OFFERED = `
  select offered.key as id, max(offered.value) as version
    from judge_workers, json_each_text(languages) as offered
   where seen_at >= clock_timestamp() - $1 * interval '1 second'
   group by offered.key`
const LEAVE = `delete from judge_workers where owner = $1`

const SAY_EVERY_MS = 20_000
const SILENT_SEC_MAX = 90
const READ_AGAIN_MS = 2000

/** Language id → compiler version. Null: no process judges at the moment. */
export type Offered = ReadonlyMap<string, string> | null

export interface OfferedLanguages {
  /** Cached for a moment. */
  read(): Promise<Offered>
  /** For a process that judges: `own` is null until it knows. */
  loop(owner: string, own: () => ReadonlyMap<string, string> | null): Loop
  leave(owner: string): Promise<void>
}

export function openOfferedLanguages(database: Database): OfferedLanguages {
  let last: { at: number; offered: Promise<Offered> } | null = null

  const read = async (): Promise<Offered> => {
    const rows = await database.query<{ id: string; version: string }>(SELECT_OFFERED, [SILENT_SEC_MAX])
    return rows.length === 0 ? null : new Map(rows.map(({ id, version }) => [id, version]))
  }

  return {
    async read() {
      if (last === null || performance.now() - last.at > READ_AGAIN_MS) {
        last = { at: performance.now(), offered: read() }
        last.offered.catch(() => (last = null))
      }
      return last.offered
    },
    loop: (owner, own) => ({
      name: 'publish-languages',
      everyMs: SAY_EVERY_MS,
      async runOnce() {
        const languages = own()
        if (languages === null) return false
        await database.query(SAY, [owner, JSON.stringify(Object.fromEntries(languages))])
        await database.query(FORGET, [SILENT_SEC_MAX])
        return false
      },
    }),
    leave: async (owner) => {
      await database.query(LEAVE, [owner])
    },
  }
}
