// The connection of one consumer, which a blocking read occupies. It creates the consumer groups, again whenever they are
// missing, and waits while Redis is away instead of failing.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { Wake } from '../../loop.ts'
import { openConnection, openOutage, type Outage } from './connection.ts'
import { isReply } from './scripts/script.ts'

const UNBLOCK_AGAIN_MS = 20
const PAUSE_FIRST_MS = 50
const PAUSE_MAX_MS = 1000

interface GroupConnectionOptions {
  url: string
  name: string
  group: string
  streams: readonly string[]
  /** For commands while this connection is blocked. */
  commands: Redis
  outage: Outage
  log: Logger
  /** A group was missing: Redis is new, or has lost its data. */
  onLoss(): void
}

export class GroupConnection {
  readonly redis: Redis
  private readonly options: GroupConnectionOptions
  private readonly troubles: Outage
  private readonly recovered = new Wake()
  private grouped = false
  private closed = false
  private pauseMs = PAUSE_FIRST_MS
  private clientId: number | null = null

  constructor(options: GroupConnectionOptions) {
    this.options = options
    this.troubles = openOutage(options.log)
    this.redis = openConnection(options.url, options.name, options.outage)
    this.redis.on('ready', () => this.begin())
  }

  /** Runs `work`. If Redis cannot do it now, waits a little and returns `otherwise`. */
  async run<T>(work: () => Promise<T>, otherwise: T, signal: AbortSignal): Promise<T> {
    if (this.closed) throw new Error('The feed is closed.')
    if (this.redis.status !== 'ready') await this.recovered.wait(PAUSE_MAX_MS, signal)
    if (this.redis.status !== 'ready') return otherwise // the outage is logged once, elsewhere
    try {
      if (!this.grouped && (await createGroups(this.redis, this.options))) this.options.onLoss()
      this.grouped = true
      const result = await work()
      this.pauseMs = PAUSE_FIRST_MS
      this.troubles.end()
      return result
    } catch (error) {
      if (isReply(error, 'NOGROUP') || isReply(error, 'UNBLOCKED')) this.grouped = false
      else if (!this.closed) await this.pause(error, signal)
      return otherwise
    }
  }

  /** Runs XREADGROUP with BLOCK, and ends the block when `signal` aborts. */
  async block(words: readonly (string | number)[], signal: AbortSignal): Promise<unknown> {
    const over = new AbortController()
    const unblocking = this.unblock(signal, over.signal)
    try {
      return await this.redis.call('XREADGROUP', ...words)
    } finally {
      over.abort()
      await unblocking
    }
  }

  close(): void {
    this.closed = true
    this.redis.disconnect()
    this.recovered.ring()
  }

  private begin(): void {
    this.grouped = false // it may be another Redis now
    this.clientId = null
    this.redis.client('ID').then((id) => void (this.clientId = id), this.options.outage.begin)
    this.recovered.ring()
  }

  private async pause(error: unknown, signal: AbortSignal): Promise<void> {
    if (isReply(error, 'Command timed out')) this.redis.disconnect(true) // a late answer would be lost
    const outage = this.redis.status === 'ready' ? this.troubles : this.options.outage
    outage.begin(error)
    await this.recovered.wait(this.pauseMs, signal)
    this.pauseMs = Math.min(PAUSE_MAX_MS, this.pauseMs * 2)
  }

  /** Repeats until the read returns: the block may not have begun. Closing the connection would lose what it just read. */
  private async unblock(signal: AbortSignal, over: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => {
      const stop = () => {
        signal.removeEventListener('abort', stop)
        resolve()
      }
      signal.addEventListener('abort', stop)
      over.addEventListener('abort', stop)
      if (signal.aborted) stop()
    })
    while (!over.aborted) {
      if (this.clientId !== null) await this.options.commands.client('UNBLOCK', this.clientId).catch(() => {}) // repeated below
      await sleep(UNBLOCK_AGAIN_MS, undefined, { signal: over }).catch(() => {})
    }
  }
}

/** At `0`: entries from before the first worker are read as well. Resolves to whether a group was missing. */
async function createGroups(redis: Redis, { streams, group }: GroupConnectionOptions): Promise<boolean> {
  const created = await Promise.all(
    streams.map(async (key) => {
      try {
        await redis.xgroup('CREATE', key, group, '0', 'MKSTREAM')
        return true
      } catch (error) {
        if (!isReply(error, 'BUSYGROUP')) throw error
        return false
      }
    }),
  )
  return created.includes(true)
}
