// Connections that fail fast: while Redis is away, a command fails at once, and the caller decides when to try again. The
// client reconnects by itself. An outage is logged once, however many commands fail.
import { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { Waiter } from '../../concurrency/waiter.ts'

const CONNECT_TIMEOUT_MS = 3000
const COMMAND_TIMEOUT_MS = 10_000
const SOCKET_TIMEOUT_MS = 5000 // without data while an answer is due; longer than a blocking read
const RECONNECT_FIRST_MS = 25
const RECONNECT_MAX_MS = 1000

export interface Outage {
  begin(error: unknown): void
  end(): void
}

export function openOutage(log: Logger): Outage {
  let isOut = false
  return {
    begin(error) {
      if (!isOut) log.error({ err: error }, 'Redis cannot be used; jobs wait in the database until it is back')
      isOut = true
    },
    end() {
      if (isOut) log.info('Redis is back')
      isOut = false
    },
  }
}

export function openConnection(url: string, name: string, outage: Outage): Redis {
  const redis = new Redis(url, {
    connectionName: name,
    protocol: 2, // replies have the same shapes from Redis 6.2 on
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    connectTimeout: CONNECT_TIMEOUT_MS,
    commandTimeout: COMMAND_TIMEOUT_MS,
    socketTimeout: SOCKET_TIMEOUT_MS,
    reconnectOnError: (error) => error.message.startsWith('READONLY'), // a primary that became a replica
    retryStrategy: (times) => Math.min(RECONNECT_MAX_MS, RECONNECT_FIRST_MS * 2 ** Math.min(times, 10)),
  })
  redis.on('error', (error) => outage.begin(error))
  redis.on('ready', () => outage.end())
  return redis
}

/** Resolves once commands can be sent; rejects when that takes longer than `ms`. */
export async function whenReady(redis: Redis, ms: number): Promise<void> {
  if (redis.status === 'ready') return
  const onReady = () => waiter.resolve()
  const waiter = new Waiter<void>({
    timeoutMs: ms,
    onTimeout() {
      throw new Error('Redis did not answer in time.')
    },
    onLeave: () => void redis.off('ready', onReady),
  })
  redis.on('ready', onReady)
  await waiter.answer
}
