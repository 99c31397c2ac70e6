// Finds connections whose answer will never come. When a network drops packets silently, neither side learns of it: the
// kernel repeats a statement for 15 minutes before it gives up. Time alone does not tell a dead connection from a slow
// statement, so the watchdog asks the server on a new connection. A backend that is not working on the statement, or a server
// that cannot be reached at all, means that the connection is dead: its socket is destroyed. The statements on it then fail
// as they do when a connection breaks, and the pool opens another one.
import { Client, DatabaseError, type ClientConfig } from 'pg'
import { withTimeout } from '../concurrency/waiter.ts'

const OVERDUE_MS = 3000
const CHECK_EVERY_MS = 1000
const PROBE_TIMEOUT_MS = 4000

const BUSY = `select pid from pg_stat_activity where pid = any($1::integer[]) and state = 'active'`

export interface Watchdog {
  /** Watches the connection until the statement's answer is there. */
  watch<Answer>(client: Client, answer: Promise<Answer>): Promise<Answer>
  close(): void
}

interface Unanswered {
  statements: number
  /** When the oldest statement was sent, or the last answer came. */
  since: number
}

export function openWatchdog(config: ClientConfig, onDead: (message: string) => void): Watchdog {
  const unanswered = new Map<Client, Unanswered>()
  let timer: NodeJS.Timeout | null = null
  let isClosed = false

  const check = async () => {
    const overdue = [...unanswered].filter(([, { since }]) => performance.now() - since >= OVERDUE_MS)
    if (overdue.length > 0) {
      const busy = await busyBackends(
        config,
        overdue.map(([client]) => processIdOf(client)),
      )
      for (const [client, { since }] of overdue) {
        if (unanswered.get(client)?.since !== since || busy === 'unknown') continue // it has answered meanwhile
        if (busy !== 'unreachable' && busy.has(processIdOf(client))) continue
        onDead(`A database connection gave no answer for ${Math.round(performance.now() - since)} ms and was closed.`)
        client.connection.stream.destroy()
      }
    }
    timer = null
    if (unanswered.size > 0) schedule()
  }

  const schedule = () => {
    if (timer === null && !isClosed) timer = setTimeout(() => void check(), CHECK_EVERY_MS).unref()
  }

  return {
    async watch(client, answer) {
      const known = unanswered.get(client)
      if (known === undefined) unanswered.set(client, { statements: 1, since: performance.now() })
      else known.statements += 1
      schedule()
      try {
        return await answer
      } finally {
        const left = unanswered.get(client)
        if (left !== undefined) {
          left.statements -= 1
          left.since = performance.now()
          if (left.statements === 0) unanswered.delete(client)
        }
      }
    },
    close() {
      isClosed = true
      if (timer !== null) clearTimeout(timer)
    },
  }
}

const processIdOf = (client: Client): number => Number(Reflect.get(client, 'processID'))

/** The backends that work on a statement. `unknown`: the server is there, but refuses another connection. */
async function busyBackends(
  config: ClientConfig,
  processIds: readonly number[],
): Promise<ReadonlySet<number> | 'unreachable' | 'unknown'> {
  const client = new Client({
    ...config,
    application_name: 'reeve watchdog',
    connectionTimeoutMillis: PROBE_TIMEOUT_MS,
  })
  client.on('error', () => {}) // it rejects the query as well
  const probe = async () => {
    await client.connect()
    return client.query<{ pid: number }>(BUSY, [processIds])
  }
  try {
    const { rows } = await withTimeout(probe(), PROBE_TIMEOUT_MS, 'The server did not answer in time.')
    return new Set(rows.map((row) => row.pid))
  } catch (error) {
    return error instanceof DatabaseError ? 'unknown' : 'unreachable'
  } finally {
    client.connection.stream.destroy()
  }
}
