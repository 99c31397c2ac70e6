// Connections that fail fast: while Redis is away, a command is an error at once, and whoever asked decides when to ask
// again. The client reconnects by itself. An outage is one line in the log, however many commands it fails.
import { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { Waiter } from '../../waiter.ts'

const COMMAND_TIMEOUT_MS = 10_000 // longer than a blocking read: what takes so long was sent into a dead connection
const RECONNECT_FIRST_MS = 25
const RECONNECT_MAX_MS = 1000

export interface Outage {
  begin(error: unknown): void
  end(): void
}

export function openOutage(log: Logger): Outage {
  let under = false
  return {
    begin(error) {
      if (!under) log.error({ err: error }, 'Redis cannot be used; jobs wait in the database until it is back')
      under = true
    },
    end() {
      if (under) log.info('Redis is back')
      under = false
    },
  }
}

export function openConnection(url: string, name: string, outage: Outage): Redis {
  const redis = new Redis(url, {
    connectionName: name,
    protocol: 2, // the same shapes of replies from Redis 6.2 on
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    commandTimeout: COMMAND_TIMEOUT_MS,
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
