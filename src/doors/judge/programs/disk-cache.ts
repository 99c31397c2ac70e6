// Folders that were costly to make, kept by a name that says all that they depend on: unpacked packages, compiled programs,
// precompiled headers. Several processes may share one cache: an entry appears in one step, by a rename, and whoever comes
// second throws its own away. What has not been used for longest goes when there is too much; what was used within the
// hour stays, because somebody may be using it.
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../../core/clock.ts'
import { newJobId } from '../../../core/random.ts'
import { isMissing } from '../package/files.ts'

const ENTRY = 'entry.json'
const FILES = 'files'
const DRAFT = '~'
const DRAFT_AGE_MS_MAX = 24 * 3_600_000
const KEEP_MS = 3_600_000
/** For so long an entry that was found is not looked for again: nobody prunes what was used within the hour. */
const TOUCH_EVERY_MS = 60_000
const REMEMBERED_MAX = 500
const REMEMBERED_CHARS_MAX = 4096

export interface CacheEntry {
  folder: string
  /** What its maker had to say about it. */
  about: unknown
  isNew: boolean
}

export interface DiskCache {
  /** `make` fills the folder, and returns what to remember beside it. It is thrown away if `make` throws. */
  get(key: string, make: (folder: string) => Promise<unknown>): Promise<CacheEntry>
  /** One pass: removes what is too much, and what a dead process left half made. */
  prune(): Promise<void>
}

export interface DiskCacheOptions {
  folder: string
  bytesMax: number
  clock: Clock
}

export function openDiskCache({ folder: root, bytesMax, clock }: DiskCacheOptions): DiskCache {
  const remembered = new Map<string, { entry: CacheEntry; touchedAt: number }>()

  const find = async (key: string): Promise<CacheEntry | null> => {
    const now = clock.now()
    const known = remembered.get(key)
    if (known !== undefined && now - known.touchedAt < TOUCH_EVERY_MS) return known.entry
    remembered.delete(key)
    const about = await readFile(join(root, key, ENTRY), 'utf8').catch((error: unknown) => {
      if (isMissing(error)) return null
      throw error
    })
    if (about === null) return null
    await utimes(join(root, key), now / 1000, now / 1000).catch(() => {}) // pruned this moment: it will be made again
    const entry = { folder: join(root, key, FILES), about: JSON.parse(about), isNew: false }
    if (about.length <= REMEMBERED_CHARS_MAX) remember(key, entry, now)
    return entry
  }

  const remember = (key: string, entry: CacheEntry, touchedAt: number) => {
    const [oldest] = remembered.keys()
    if (oldest !== undefined && remembered.size >= REMEMBERED_MAX) remembered.delete(oldest)
    remembered.set(key, { entry, touchedAt })
  }

  const make = async (key: string, fill: (folder: string) => Promise<unknown>): Promise<CacheEntry> => {
    const draft = join(root, `${DRAFT}${newJobId()}`)
    await mkdir(join(draft, FILES), { recursive: true })
    try {
      const about = (await fill(join(draft, FILES))) ?? null
      await writeFile(join(draft, ENTRY), JSON.stringify(about))
      await rename(draft, join(root, key)).catch(async (error: unknown) => {
        if ((await find(key)) === null) throw error // otherwise somebody was faster
      })
      return { folder: join(root, key, FILES), about, isNew: true }
    } finally {
      await rm(draft, { recursive: true, force: true })
    }
  }

  return {
    get: async (key, fill) => (await find(key)) ?? make(key, fill),
    async prune() {
      const entries = await entriesIn(root)
      for (const { path } of entries.filter(
        (entry) => entry.isDraft && clock.now() - entry.usedAt > DRAFT_AGE_MS_MAX,
      )) {
        await rm(path, { recursive: true, force: true })
      }
      const whole = entries.filter((entry) => !entry.isDraft).sort((a, b) => a.usedAt - b.usedAt)
      let bytes = whole.reduce((sum, entry) => sum + entry.bytes, 0)
      for (const entry of whole) {
        if (bytes <= bytesMax || clock.now() - entry.usedAt < KEEP_MS) break
        await rm(entry.path, { recursive: true, force: true })
        bytes -= entry.bytes
      }
    },
  }
}

async function entriesIn(root: string) {
  const names = await readdir(root).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw error
  })
  const entries = []
  for (const name of names) {
    const path = join(root, name)
    const seen = await stat(path).catch(() => null) // pruned by another process
    if (seen !== null)
      entries.push({ path, isDraft: name.startsWith(DRAFT), usedAt: seen.mtimeMs, bytes: await bytesIn(path) })
  }
  return entries
}

async function bytesIn(folder: string): Promise<number> {
  const names = await readdir(folder, { recursive: true }).catch(() => [])
  let bytes = 0
  for (const name of names) bytes += (await stat(join(folder, name)).catch(() => null))?.size ?? 0
  return bytes
}
