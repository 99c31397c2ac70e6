// Folders that are expensive to make, under a name that covers everything they depend on: unpacked packages, compiled
// programs, precompiled headers. Several processes may share one cache: an entry appears in one step, by a rename, and a
// process that comes second discards its own.
//
// The limit on bytes holds at all times: before an entry is made, room for it is made as well, largest and oldest first.
// An entry used within the last minutes stays, because somebody may be using it; if only such entries are left, `get` throws.
import { existsSync, mkdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { readdir, readFile, rename, stat, utimes } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Clock } from '../../../core/clock.ts'
import { newJobId } from '../../../core/random.ts'
import { isMissing } from '../package/files.ts'
import { removeTree } from '../sandbox/remove-tree.ts'

const ENTRY = 'entry.json'
const FILES = 'files'
const DRAFT = '~'
const DRAFT_AGE_MS_MAX = 24 * 3_600_000
/** `prune` keeps what was used within the hour. */
const KEEP_MS = 3_600_000
/** Room is made with what has not been used for this long. */
const IN_USE_MS = 120_000
/** How long an entry that was found is not looked for again. Less than IN_USE_MS. */
const TOUCH_EVERY_MS = 60_000
const REMEMBERED_MAX = 500
/** Files that are looked at before others have their turn. */
const STATS_AT_ONCE = 100
const REMEMBERED_CHARS_MAX = 4096

export interface CacheEntry {
  folder: string
  /** What `make` returned for it. */
  about: unknown
  isNew: boolean
}

export interface DiskCache {
  /** `make` fills the folder and returns what to remember beside it. If it throws, nothing is kept. */
  get(key: string, make: (folder: string) => Promise<unknown>): Promise<CacheEntry>
  /** One pass: removes what is over the limit, and drafts of dead processes. */
  prune(): Promise<void>
}

export interface DiskCacheOptions {
  folder: string
  bytesMax: number
  /** The most that one entry can have. */
  entryBytesMax: number
  clock: Clock
}

/** There is no room, and everything in the cache is in use. */
export class CacheFull extends Error {
  override name = 'CacheFull'
}

export const openDiskCache = (options: DiskCacheOptions): DiskCache => new FolderCache(options)

class FolderCache implements DiskCache {
  readonly #options: DiskCacheOptions
  readonly #remembered = new Map<string, { entry: CacheEntry; touchedAt: number }>()
  /** By this process's count; null: not counted yet. */
  #bytesUsed: number | null = null
  #bytesReserved = 0

  constructor(options: DiskCacheOptions) {
    this.#options = options
  }

  async get(key: string, fill: (folder: string) => Promise<unknown>): Promise<CacheEntry> {
    return (await this.#find(key)) ?? this.#make(key, fill)
  }

  async prune(): Promise<void> {
    const entries = await this.#entries()
    const now = this.#options.clock.now()
    const isOlder = ({ usedAt }: FoundEntry, ageMs: number) => now - usedAt > ageMs
    for (const draft of entries.filter((entry) => entry.isDraft && isOlder(entry, DRAFT_AGE_MS_MAX)))
      await this.#remove(draft)
    const whole = entries.filter((entry) => !entry.isDraft).sort((a, b) => a.usedAt - b.usedAt)
    this.#bytesUsed = whole.reduce((sum, entry) => sum + entry.bytes, 0)
    for (const entry of whole) {
      if (this.#bytesUsed <= this.#options.bytesMax || !isOlder(entry, KEEP_MS)) break
      await this.#remove(entry)
    }
  }

  async #find(key: string): Promise<CacheEntry | null> {
    const { folder: root, clock } = this.#options
    const now = clock.now()
    const known = this.#remembered.get(key)
    if (known !== undefined && now - known.touchedAt < TOUCH_EVERY_MS) return known.entry
    this.#remembered.delete(key)
    const about = await readFile(join(root, key, ENTRY), 'utf8').catch((error: unknown) => {
      if (isMissing(error)) return null
      throw error
    })
    if (about === null) return null
    await touch(join(root, key), now).catch(() => {}) // removed this moment: it will be made again
    const entry = { folder: join(root, key, FILES), about: JSON.parse(about), isNew: false }
    if (about.length <= REMEMBERED_CHARS_MAX) this.#remember(key, entry, now)
    return entry
  }

  #remember(key: string, entry: CacheEntry, touchedAt: number): void {
    const [oldest] = this.#remembered.keys()
    if (oldest !== undefined && this.#remembered.size >= REMEMBERED_MAX) this.#remembered.delete(oldest)
    this.#remembered.set(key, { entry, touchedAt })
  }

  async #make(key: string, fill: (folder: string) => Promise<unknown>): Promise<CacheEntry> {
    const { folder: root, entryBytesMax, clock } = this.#options
    const draft = join(root, `${DRAFT}${newJobId()}`)
    this.#bytesReserved += entryBytesMax
    try {
      await this.#makeRoom()
      mkdirSync(join(draft, FILES), { recursive: true }) // these small calls take less time than the thread pool
      const about = (await fill(join(draft, FILES))) ?? null
      writeFileSync(join(draft, ENTRY), JSON.stringify(about))
      utimesSync(draft, clock.now() / 1000, clock.now() / 1000)
      const bytes = await bytesIn(draft)
      await rename(draft, join(root, key)).then(
        () => (this.#bytesUsed = (this.#bytesUsed ?? 0) + bytes),
        async (error: unknown) => {
          if ((await this.#find(key)) === null) throw error // otherwise another process was faster
        },
      )
      return { folder: join(root, key, FILES), about, isNew: true }
    } finally {
      this.#bytesReserved -= entryBytesMax
      if (existsSync(draft)) await removeTree(draft)
    }
  }

  /** Looks at the disk only where the count says that it is needed. */
  async #makeRoom(): Promise<void> {
    const { folder: root, bytesMax, clock } = this.#options
    const hasRoom = () => this.#bytesUsed !== null && this.#bytesUsed + this.#bytesReserved <= bytesMax
    if (hasRoom()) return
    const entries = (await this.#entries()).filter((entry) => !entry.isDraft)
    this.#bytesUsed = entries.reduce((sum, entry) => sum + entry.bytes, 0)
    const now = clock.now()
    const weight = ({ bytes, usedAt }: FoundEntry) => bytes * (now - usedAt)
    const removable = entries.filter(({ usedAt }) => now - usedAt >= IN_USE_MS)
    for (const entry of removable.sort((a, b) => weight(b) - weight(a))) {
      if (hasRoom()) return
      await this.#remove(entry)
    }
    if (!hasRoom()) throw new CacheFull(`The cache ${basename(root)} is full.`)
  }

  async #remove({ path, bytes }: FoundEntry): Promise<void> {
    this.#remembered.delete(basename(path))
    await removeTree(path)
    this.#bytesUsed = Math.max(0, (this.#bytesUsed ?? 0) - bytes)
  }

  #entries(): Promise<FoundEntry[]> {
    return entriesIn(this.#options.folder)
  }
}

interface FoundEntry {
  path: string
  isDraft: boolean
  usedAt: number
  bytes: number
}

const touch = (path: string, now: number): Promise<void> => utimes(path, now / 1000, now / 1000)

async function entriesIn(root: string): Promise<FoundEntry[]> {
  const names = await readdir(root).catch((error: unknown) => {
    if (isMissing(error)) return []
    throw error
  })
  const entries: FoundEntry[] = []
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
  for (const [index, name] of names.entries()) {
    if (index % STATS_AT_ONCE === STATS_AT_ONCE - 1) await nextTurn()
    bytes += sizeOf(join(folder, name))
  }
  return bytes
}

/** Of what a program has left: it may be gone, or hidden. */
function sizeOf(path: string): number {
  try {
    return statSync(path).size
  } catch {
    return 0
  }
}
