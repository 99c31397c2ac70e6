// The connections of a pool. The one that was used last is kept beside the pool and is the next to be used: `pg-pool` makes timers,
// promises and events whenever a connection is taken from it or given back, which was a twelfth of the time until a lone job began.
import type { Pool, PoolClient } from 'pg'

export interface Connections {
  take(): PoolClient | Promise<PoolClient>
  /** `isBroken` closes it: the next statement must not get a socket that is about to end. */
  giveBack(client: PoolClient, isBroken?: boolean): void
  use(): { busy: number; idle: number; waiting: number }
  /** Resolves when all are given back and closed. */
  close(): Promise<void>
}

interface ConnectionsOptions {
  /** Those that nobody uses, of all pools. */
  idle: Set<PoolClient>
  /** A connection broke that nobody used. The next statement gets another one. */
  onBroken(error: Error): void
}

export function openConnections(pool: Pool, { idle, onBroken }: ConnectionsOptions): Connections {
  let kept: PoolClient | null = null
  let isClosed = false
  const ended = new WeakSet<PoolClient>() // also those that broke in use, after their last answer

  const takeKept = (): PoolClient | null => {
    const client = kept
    if (client !== null) idle.delete(client)
    kept = null
    return client
  }

  pool.on('error', onBroken)
  // Without a listener the event would end the process, and it may come before the caller has the connection.
  pool.on('connect', (client) =>
    client.on('error', (error) => {
      ended.add(client)
      if (client !== kept) return // the pool reports it, or the statement that it fails
      takeKept()?.release(true)
      onBroken(error)
    }),
  )
  pool.on('release', (_error, client) => idle.add(client))
  pool.on('acquire', (client) => idle.delete(client))
  pool.on('remove', (client) => idle.delete(client))

  return {
    take: () => takeKept() ?? pool.connect(),
    giveBack(client, isBroken = false) {
      const isWanted = pool.waitingCount > 0 // by somebody who waits for the pool
      const isLost = isBroken || ended.has(client)
      if (isLost || isClosed || isWanted || kept !== null) return client.release(isLost)
      kept = client
      idle.add(client)
    },
    use() {
      const unused = pool.idleCount + (kept === null ? 0 : 1)
      return { busy: pool.totalCount - unused, idle: unused, waiting: pool.waitingCount }
    },
    async close() {
      isClosed = true
      takeKept()?.release()
      await pool.end()
    },
  }
}
