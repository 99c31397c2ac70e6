// Three pools on one database. The cold pool serves ordinary queries and transactions of a door. The hot pool serves the
// ledger's batched statements. Their plans must not depend on the statistics of the tables: a statement that was prepared
// on an empty table and kept for a day would scan a million rows. The async-commit pool is like the hot one, but its commits
// do not wait for the disk: for changes that may be forgotten when the database crashes.
import { Socket } from 'node:net'
import { Client, DatabaseError, Pool as PgPool, type PoolClient } from 'pg'
import { openConnections, type Connections } from './connections.ts'
import './decode-long-text.ts'
import { Unstorable } from './params.ts'
import { PreparedStatement, type Row } from './prepared-statement.ts'
import { openWatchdog, type Watchdog } from './watchdog.ts'

const HOT_PLANS = [
  'plan_cache_mode=force_generic_plan',
  'enable_hashjoin=off',
  'enable_mergejoin=off',
  'enable_seqscan=off',
]
const COLD_CONNECTIONS_MAX = 10
const HOT_CONNECTIONS_MAX = 10
const ASYNC_COMMIT_CONNECTIONS_MAX = 4
const CONNECT_TIMEOUT_MS = 30_000 // also for a turn in the pool: a machine that stands still for seconds fails nobody
const DIAL_TIMEOUT_MS = 5000 // for one connection: the kernel repeats a lost packet after ever longer pauses
// Nothing is waited for inside a transaction but its statements: one that is idle for so long has lost its client, and holds locks
// that others wait for. Part of the bound of recovery in docs/how-it-works.md.
const IDLE_IN_TRANSACTION_MS = 5000

// The server's side of a silent partition: it ends the session, and with that its locks. Unix sockets ignore the settings.
const SERVER_SIDE = [
  'tcp_user_timeout=10000',
  'tcp_keepalives_idle=10',
  'tcp_keepalives_interval=3',
  'tcp_keepalives_count=3',
]

/** Something that runs one statement at a time: a pool, or the connection of a transaction. */
export interface Queryable {
  query<R extends object = Row>(sql: string, params?: readonly unknown[]): Promise<R[]>
}

/** A queryable inside `begin … commit`. */
export interface Tx extends Queryable {
  readonly inTransaction: true
  /** Pipelines a statement without waiting for its answer. If it fails, the transaction fails. */
  send(sql: string, params?: readonly unknown[]): void
  /** Several statements at once, with no parameters: a migration. */
  script(sql: string): Promise<void>
}

export interface Pool extends Queryable {
  /** One connection for several statements that run in order. Each commits by itself. */
  inTurn<T>(work: (on: Queryable) => Promise<T>): Promise<T>
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
}

export interface Database extends Pool {
  readonly hot: Pool
  readonly asyncCommit: Pool
  /** How the pools are used now. */
  pools(): readonly PoolUse[]
  /** A connection outside the pools, for LISTEN. The caller ends it. */
  connect(): Promise<Client>
  close(): Promise<void>
}

export interface PoolUse {
  name: string
  busy: number
  idle: number
  /** Callers that wait for a connection. */
  waiting: number
}

export type DatabaseAddress = string | { host: string; port: number; user: string; database: string }

export function openDatabase(connection: DatabaseAddress, onError: (error: Error) => void): Database {
  const base = typeof connection === 'string' ? { connectionString: connection } : connection
  const common = {
    ...base,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    keepAlive: true,
    options: optionsOf(SERVER_SIDE),
    stream: () => dialing(new Socket()),
  }
  const pooled = { ...common, pipeline: true } // a statement is sent without waiting for the answer to the one before
  const cold = new PgPool({ ...pooled, application_name: 'reeve', min: 1, max: COLD_CONNECTIONS_MAX })
  const hot = new PgPool({
    ...pooled,
    application_name: 'reeve hot',
    min: 1, // the first call after a quiet time needs no new connection
    max: HOT_CONNECTIONS_MAX,
    options: optionsOf([...SERVER_SIDE, ...HOT_PLANS]),
  })
  const asyncCommit = new PgPool({
    ...pooled,
    application_name: 'reeve async',
    min: 1,
    max: ASYNC_COMMIT_CONNECTIONS_MAX,
    options: optionsOf([...SERVER_SIDE, ...HOT_PLANS, 'synchronous_commit=off']),
  })
  let closing = false
  const onBroken = (error: Error) => {
    Reflect.deleteProperty(error, 'client') // attached by the pool: kilobytes of internals in a log line
    if (!closing) onError(error)
  }
  const idle = new Set<PoolClient>()
  const connections = {
    cold: openConnections(cold, { idle, onBroken }),
    hot: openConnections(hot, { idle, onBroken }),
    asyncCommit: openConnections(asyncCommit, { idle, onBroken }),
  }
  const watchdog = openWatchdog(common, (message) => {
    onBroken(new Error(message))
    // What silenced one connection did the same to the idle ones. Without this, query after query would find out by waiting.
    for (const client of idle) {
      idle.delete(client)
      client.emit('error', new Error('A database connection was closed because another one gave no answer.')) // leaves its pool
      client.connection.stream.destroy()
    }
  })

  return {
    ...poolOf(connections.cold, watchdog),
    hot: poolOf(connections.hot, watchdog),
    asyncCommit: poolOf(connections.asyncCommit, watchdog),
    pools: () => [
      { name: 'cold', ...connections.cold.use() },
      { name: 'hot', ...connections.hot.use() },
      { name: 'async_commit', ...connections.asyncCommit.use() },
    ],
    async connect() {
      const client = new Client({ ...common, application_name: 'reeve listen' })
      client.on('error', onBroken)
      await client.connect()
      return client
    },
    async close() {
      closing = true
      watchdog.close()
      await Promise.all(Object.values(connections).map((one) => one.close()))
    },
  }
}

const optionsOf = (settings: readonly string[]): string => settings.map((setting) => `-c ${setting}`).join(' ')

function poolOf(connections: Connections, watchdog: Watchdog): Pool {
  const inTurn: Pool['inTurn'] = async (work) => {
    const client = await connections.take()
    try {
      const result = await work({ query: (sql, params) => run(watchdog, client, sql, params) })
      connections.giveBack(client)
      return result
    } catch (error) {
      connections.giveBack(client, isLostConnection(error) || isOutdated(error))
      throw error
    }
  }
  return {
    query: (sql, params) => inTurn((on) => on.query(sql, params)),
    inTurn,
    async transaction(work) {
      const client = await connections.take()
      const sent: Promise<unknown>[] = []
      const send = (answer: Promise<unknown>) => {
        answer.catch(ignore) // checked at the end
        sent.push(answer)
      }
      const say = (sql: string) => {
        gatherWrites(client)
        return watchdog.watch(client, client.query(sql))
      }
      try {
        send(say('begin'))
        const result = await work({
          inTransaction: true,
          query: (sql, params) => run(watchdog, client, sql, params),
          send: (sql, params) => send(run(watchdog, client, sql, params)),
          script: async (sql) => void (await say(sql)),
        })
        // After a statement that failed, this is a rollback.
        await Promise.all([...sent, say('commit')])
        connections.giveBack(client)
        return result
      } catch (error) {
        const first = (await Promise.allSettled(sent)).find((answer) => answer.status === 'rejected')
        const cause: unknown = first?.reason ?? error // the errors after it only say that the transaction is aborted
        const isRolledBack = await rollback(client, watchdog)
        connections.giveBack(client, !isRolledBack || isOutdated(cause))
        throw cause
      }
    },
  }
}

/** A connection that is not established within the time is given up: the next attempt is quicker than the kernel's. */
function dialing(socket: Socket): Socket {
  const timer = setTimeout(() => socket.destroy(), DIAL_TIMEOUT_MS).unref()
  return socket.once('data', () => clearTimeout(timer)).once('close', () => clearTimeout(timer))
}

const ignore = () => {}

/** Whether it did. A connection that cannot even roll back is closed. */
const rollback = (client: PoolClient, watchdog: Watchdog): Promise<boolean> =>
  watchdog.watch(client, client.query('rollback')).then(
    () => true,
    () => false,
  )

// Statements are constants, so the map is as large as the program. A named statement is parsed once per connection.
const names = new Map<string, string>()

function nameOf(sql: string): string {
  const known = names.get(sql)
  if (known !== undefined) return known
  const name = `reeve_${names.size}`
  names.set(sql, name)
  return name
}

/**
 * Statements that are sent in the same turn are written to the socket at once: a write that wakes another process costs
 * more than most of what the statement itself costs here.
 */
function gatherWrites({ connection: { stream } }: Client): void {
  if (stream.writableCorked > 0) return
  stream.cork()
  process.nextTick(() => stream.uncork())
}

async function run<R extends object>(watchdog: Watchdog, client: Client, sql: string, values: readonly unknown[] = []) {
  gatherWrites(client)
  const answer = new Promise<Row[]>((resolve, reject) => {
    client.query(new PreparedStatement({ name: nameOf(sql), text: sql, values, resolve, reject }))
  })
  try {
    const rows = await watchdog.watch(client, answer)
    trustColumns<R>(rows)
    return rows
  } catch (error) {
    if (error instanceof Error) Error.captureStackTrace(error) // the stack of the caller, not of the reader of the socket
    throw error
  }
}

/** The statement says what its columns are: nothing here could check it. */
function trustColumns<R extends object>(_rows: Row[]): asserts _rows is (Row & R)[] {}

/** The five-character code of an error that PostgreSQL raised, or null for anything else (a lost connection). */
export const sqlState = (error: unknown): string | null =>
  error instanceof DatabaseError && error.code !== undefined ? error.code : null

/** PostgreSQL refused a value (out of range, a broken constraint). */
export const isRefusedValue = (error: unknown): error is DatabaseError => /^(22|23)/.test(sqlState(error) ?? '')

/** The statement's own data is at fault: a repeat would fail again. */
export const isDataError = (error: unknown): boolean => isRefusedValue(error) || error instanceof Unstorable

/** Another transaction was in the way: a repeat may succeed. */
export const isConflict = (error: unknown): boolean => /^(40001|40P01|55P03)$/.test(sqlState(error) ?? '')

const LOST_STATES = /^(08|57P0|53300)/
const LOST_CODES = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT'])
const LOST_WORDS =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|connect ENOENT)/

/** The database, or another server, is away: it is unknown whether the statement was executed. */
export const isLostConnection = (error: unknown): boolean =>
  LOST_STATES.test(sqlState(error) ?? '') ||
  (error instanceof Error && 'code' in error && typeof error.code === 'string' && LOST_CODES.has(error.code)) ||
  (error instanceof Error && LOST_WORDS.test(error.message)) // `pg` has no codes for these

/**
 * A prepared statement no longer fits its tables, which a migration has changed since. It would fail on this connection for ever: another
 * one prepares it anew.
 */
const isOutdated = (error: unknown): boolean => /^(0A000|26000)$/.test(sqlState(error) ?? '')

/** Text for people, cut and cleaned so that a column can hold it: no NUL, no lone surrogate. */
export const storableText = (text: string, charsMax: number): string =>
  text.slice(0, charsMax).toWellFormed().replaceAll('\0', '')
