// The encryption keys: CAPTCHA_ENCRYPTION_KEYS, or one that is made on the first start and kept in the data folder, which serves one
// machine. The database records which keys are in use: a server with another made key seals nothing, since no other could open it.
import { createHash } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Database } from '../../../core/db/database.ts'
import { HttpError } from '../../../core/http/errors/http-error.ts'
import { newBytes, newJobId } from '../../../core/random.ts'
import { StartError } from '../../../core/start-error.ts'
import { openSealer, type Sealer, type SealKey } from './seal.ts'

const REMEMBER = `insert into captcha_key (key_id) select unnest($1::text[]) on conflict do nothing`
const REMEMBER_FIRST = `insert into captcha_key (key_id) select $1 where not exists (select from captcha_key)
      on conflict do nothing`
const SELECT_KEYS = `select key_id from captcha_key order by first_used_at, key_id`

const KEY_FILE = 'desk.key'
const KEY_BYTES = 32

export interface KeyRingOptions {
  configured: readonly SealKey[]
  dataDir: string
  database: Database
  log: Logger
}

export async function openKeyRing(options: KeyRingOptions): Promise<Sealer> {
  const { configured, database, log } = options
  const [first, ...rest] = configured
  if (first === undefined) return openMade(options)

  await database.query(REMEMBER, [configured.map(({ id }) => id)])
  const missing = (await knownKeys(database)).filter((id) => !configured.some((key) => key.id === id))
  if (missing.length > 0) log.warn({ missing }, 'values sealed with keys that are not set cannot be opened')
  return openSealer([first, ...rest])
}

async function openMade({ dataDir, database, log }: KeyRingOptions): Promise<Sealer> {
  const { isNew, ...made } = await keyOfFolder(dataDir)
  await database.query(REMEMBER_FIRST, [made.id])
  const [first] = await knownKeys(database)
  const sealer = openSealer([made])
  const file = join(dataDir, KEY_FILE)
  if (first === made.id) {
    if (isNew) log.warn({ file }, 'created an encryption key for the desk, beside the data')
    return sealer
  }
  log.error(
    { file, key: first },
    'the desk refuses solutions on this server: CAPTCHA_ENCRYPTION_KEYS is not set, and another key is in use',
  )
  return {
    ...sealer,
    seal() {
      throw new HttpError(503, 'unavailable', 'CAPTCHA_ENCRYPTION_KEYS must be set, and the same at every server.')
    },
  }
}

const knownKeys = async (database: Database): Promise<string[]> =>
  (await database.query<{ key_id: string }>(SELECT_KEYS)).map((row) => row.key_id)

/** Made by one process even if two start at once: the link is refused where there is one already. */
async function keyOfFolder(dataDir: string): Promise<SealKey & { isNew: boolean }> {
  const path = join(dataDir, KEY_FILE)
  const draft = `${path}.${newJobId()}`
  await mkdir(dataDir, { recursive: true })
  await writeFile(draft, `${newBytes(KEY_BYTES).toString('base64')}\n`, { mode: 0o600, flag: 'wx' })
  const isNew = await link(draft, path).then(
    () => true,
    (error: unknown) => {
      if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
      throw error
    },
  )
  await rm(draft)

  const key = Buffer.from((await readFile(path, 'utf8')).trim(), 'base64')
  if (key.length !== KEY_BYTES) throw new StartError(`${path} does not hold a key of ${KEY_BYTES} bytes in base64.`)
  return { id: `file-${createHash('sha256').update(key).digest('hex').slice(0, 12)}`, key, isNew }
}
