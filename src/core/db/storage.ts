// Where the database is: the one that the settings name, or the embedded one in the data folder.
import type { Logger } from 'pino'
import { CloseStack } from '../concurrency/close-stack.ts'
import { databaseUrl, type Config } from '../config.ts'
import { analyzeGrownLoop } from './analyze-grown.ts'
import { openDatabase, type DatabaseAddress, type Database } from './database.ts'
import { hasCluster } from '../embedded/cluster.ts'
import { lockDataDir } from '../embedded/lock.ts'
import { findRunning, startEmbedded } from '../embedded/server.ts'
import type { Loop } from '../loop.ts'
import { StartError } from '../start-error.ts'

const POSTGRES_MIN = 15

export interface Storage {
  database: Database
  /** For people: no password in it. */
  about: string
  /** Resolves with a sentence if the database server of this process dies under it. */
  lost: Promise<string>
  /** To run in a process that goes on. */
  loops: readonly Loop[]
  close(): Promise<void>
}

const never = new Promise<never>(() => {})

/** For a server: the embedded database is its own, from start to stop. */
export async function openStorage(config: Config, log: Logger): Promise<Storage> {
  const url = databaseUrl(config)
  if (url !== null) return openUrl(url, log)

  const lock = await lockDataDir(config.REEVE_DATA_DIR)
  try {
    const server = await startEmbedded({ dataDir: config.REEVE_DATA_DIR, log: (line) => log.info(line) })
    const database = await openChecked(server.connection, config.REEVE_DATA_DIR, log)
    const closing = new CloseStack(log)
    closing.push('lock', () => lock.release())
    closing.push('PostgreSQL', () => server.stop())
    closing.push('database connections', () => database.close())
    return {
      database,
      about: 'PostgreSQL, embedded in the data folder',
      lost: server.exited.then(({ expected }) =>
        expected ? never : `The embedded database stopped by itself: see ${config.REEVE_DATA_DIR}/postgres.log.`,
      ),
      loops: [...server.loops, analyzeGrownLoop(database)],
      close: () => closing.close(),
    }
  } catch (error) {
    await lock.release()
    throw error
  }
}

/** A command asked for the embedded database of a folder that has none. */
export class NoDatabaseYet extends StartError {
  override name = 'NoDatabaseYet'
}

/** For a command: the embedded database of a running server if there is one, otherwise started for the moment. Never made. */
export async function joinStorage(config: Config, log: Logger): Promise<Storage> {
  if (databaseUrl(config) !== null) return openStorage(config, log)
  const running = await findRunning(config.REEVE_DATA_DIR)
  if (running === null) return openExisting(config, log)

  const database = await openChecked(running, config.REEVE_DATA_DIR, log)
  return { database, about: 'the running server', lost: never, loops: [], close: () => database.close() }
}

/** For a command that needs the embedded database to itself. Never made. */
export async function openExisting(config: Config, log: Logger): Promise<Storage> {
  if (await hasCluster(config.REEVE_DATA_DIR)) return openStorage(config, log)
  throw new NoDatabaseYet(
    `There is no database in ${config.REEVE_DATA_DIR}: reeve up makes one at its first start. ` +
      'Set REEVE_DATA_DIR or DATABASE_URL for one that is elsewhere, or ask a server: --url, or reeve login.',
  )
}

/** For a command whose purpose is to make it. */
export async function joinOrMakeStorage(config: Config, log: Logger): Promise<Storage> {
  try {
    return await joinStorage(config, log)
  } catch (error) {
    if (error instanceof NoDatabaseYet) return openStorage(config, log)
    throw error
  }
}

async function openUrl(url: string, log: Logger): Promise<Storage> {
  const about = withoutPassword(url)
  const database = await openChecked(url, about, log)
  return {
    database,
    about: `PostgreSQL at ${about}`,
    lost: never,
    loops: [analyzeGrownLoop(database)],
    close: () => database.close(),
  }
}

async function openChecked(connection: DatabaseAddress, about: string, log: Logger): Promise<Database> {
  const database = openDatabase(connection, (error) => log.warn({ err: error }, 'a database connection broke'))
  try {
    const [row] = await database.query<{ version: string }>(`select current_setting('server_version_num') as version`)
    const version = Math.floor(Number(row?.version) / 10_000)
    if (version >= POSTGRES_MIN) return database
    throw new StartError(`The database at ${about} is PostgreSQL ${version}; Reeve needs ${POSTGRES_MIN} or newer.`)
  } catch (error) {
    await database.close()
    if (error instanceof StartError) throw error
    const why = error instanceof Error && error.message !== '' ? error.message : 'no answer'
    throw new StartError(
      `Cannot use the database at ${about}: ${why}. Check DATABASE_URL, or leave it empty for the embedded one.`,
    )
  }
}

function withoutPassword(url: string): string {
  try {
    const { host, pathname } = new URL(url)
    return `${host}${pathname}`
  } catch {
    throw new StartError('DATABASE_URL is not a URL: expected postgres://user:password@host:5432/database.')
  }
}
