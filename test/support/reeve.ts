// A server in this process, started as src/main.ts starts it, on an empty database. Every suite's setup builds on it.
//
// Accounts and their tokens are inserted: hashing a password takes longer than most tests. The hashes of the passwords below are
// written down, so that a test whose subject is the login can still log in.
import assert from 'node:assert/strict'
import { parseConfig } from '../../src/core/config.ts'
import { openDatabase, type Database } from '../../src/core/db/database.ts'
import { findAccount, insertAccount } from '../../src/core/identity/accounts.ts'
import { isRole } from '../../src/core/identity/role.ts'
import { openLog } from '../../src/core/log/log.ts'
import { doorSettings, migrationFolders } from '../../src/doors/outline.ts'
import { start, type ProcessRole, type Start } from '../../src/main.ts'
import { atEnd, type Scope } from './cleanup.ts'
import { reusedDatabase } from './database.ts'
import { fewLanguages, judgeCache } from './judge-cache.ts'
import { loginOf } from './login.ts'
import { temporaryFolder, type PgConnection } from './servers.ts'

export const ADMIN = { username: 'admin', password: 'admin password' }
/** Of every other account. */
export const PASSWORD = 'a long password'

const ADMIN_HASH = '$argon2id$v=19$m=19456,t=2,p=1$6AXwPl6GVMediocrFbiMqw$Zy9RPd1sdBU4/8/wY67TvT92ld7h6FGAT2mE3+knOlY'
const PASSWORD_HASH =
  '$argon2id$v=19$m=19456,t=2,p=1$W3fM3gnQMAchgPpFNI42YA$W2Ei4JwVDbgGHN5vHXMve7Zl7b0kZLtu5u6CLKsKERs'

/** What every server of a test is started with. */
export const TEST_ENV = {
  SERVER_PORT: '0',
  METRICS_PORT: '0',
  LOG_LEVEL: 'silent',
  DRAIN_TIMEOUT_SEC: '3',
  REEVE_ADMIN_USERNAME: ADMIN.username,
  LOGIN_RATE_LIMIT_MAX: '1000',
  JUDGE_SAMPLE_PROBLEMS: 'false',
}

export interface ReeveOptions {
  /** By default all of them. */
  doors?: string
  env?: Readonly<Record<string, string>>
  /** Another server's database, in place of an empty one. */
  on?: PgConnection | undefined
  role?: ProcessRole | undefined
  /** In place of a folder that is removed at the end. */
  dataDir?: string | undefined
  /** Gets everything that is logged. */
  lines?: string[] | undefined
  onStep?: Start['onStep']
}

export interface Reeve {
  /** Of a process that only works: where it is watched. */
  url: string
  at: PgConnection
  dataDir: string
  /** What it was started with: for processes beside it. */
  env: Record<string, string>
  /** Beside the server: to arrange what only time or an accident brings. */
  database: Database
  stop(): Promise<void>
}

export async function startReeve(t: Scope, options: ReeveOptions = {}): Promise<Reeve> {
  const at = options.on ?? (await reusedDatabase(t, migrationFolders()))
  const dataDir = options.dataDir ?? (await temporaryFolder(t))
  const env = {
    ...TEST_ENV,
    ...(options.doors === undefined ? {} : { DOORS: options.doors }),
    ...(options.lines === undefined ? {} : { LOG_LEVEL: 'trace' }),
    DATABASE_URL: urlOf(at),
    REEVE_DATA_DIR: dataDir,
    JUDGE_CACHE_DIR: await judgeCache(), // compiling the sandbox's helper takes a second of a core
    JUDGE_LANGUAGES_FILE: await fewLanguages,
    ...options.env,
  }
  const database = openBeside(t, at)
  await insertAdmin(database)

  const settings = parseConfig(env, doorSettings())
  const { lines } = options
  const log = openLog(settings.core, lines === undefined ? undefined : { write: (line) => void lines.push(line) })
  const running = await start({ settings, role: options.role ?? 'up', log, onStep: options.onStep })
  let stopped: Promise<void> | null = null
  const stop = () => (stopped ??= running.stop())
  atEnd(t, stop)
  if (running.url !== null) databases.set(running.url, database)
  return { url: running.url ?? '', at, dataDir, env, database, stop }
}

export async function insertAdmin(database: Database): Promise<void> {
  await insertAccount(database, { username: ADMIN.username, passwordHash: ADMIN_HASH, roles: ['ADMIN'] })
}

/** As `DATABASE_URL`. */
export const urlOf = ({ host, port, user, database }: PgConnection): string =>
  `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`

export interface TestAccount {
  accountId: number
  username: string
  token: string
}

// By the address of their server, which is all that the clients of a test know of it.
const databases = new Map<string, Database>()

/** A server in another process, whose accounts are inserted like those of the others. */
export function knowServer(t: Scope, url: string, at: PgConnection): void {
  databases.set(url, openBeside(t, at))
}

/** A new account of this server, logged in. */
export async function newAccount(url: string, username: string, roles: readonly string[] = []): Promise<TestAccount> {
  const account = await insertAccount(databaseOf(url), {
    username,
    passwordHash: PASSWORD_HASH,
    roles: roles.filter(isRole),
  })
  assert(account !== null, `there is an account ${username}`)
  return tokenOf(url, username)
}

/** An account that is there, logged in once more. */
export async function tokenOf(url: string, username: string): Promise<TestAccount> {
  const database = databaseOf(url)
  const found = await findAccount(database, username)
  assert(found !== null, `there is no account ${username}`)
  const { accountId } = found.account
  return { accountId, username, token: await loginOf(database, accountId) }
}

function openBeside(t: Scope, at: PgConnection): Database {
  const database = openDatabase(at, () => {})
  atEnd(t, () => database.close())
  return database
}

function databaseOf(url: string): Database {
  const database = databases.get(url)
  assert(database !== undefined, `no server of this test listens at ${url}`)
  return database
}
