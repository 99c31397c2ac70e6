// A consumer's own connection, which a blocking read holds up. It makes the groups that it reads from, again whenever they
// are gone, and waits while Redis is away instead of failing.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Logger } from 'pino'
import { Wake } from '../../loop.ts'
import { openConnection, openOutage, type Outage } from './connection.ts'
import { isReply } from './script.ts'

const UNBLOCK_AGAIN_MS = 20
const PAUSE_FIRST_MS = 50
const PAUSE_MAX_MS = 1000

export interface GroupConnectionOptions {
  url: string
  name: string
  group: string
  streams: readonly string[]
  /** For what cannot be said on a blocked connection. */
  commands: Redis
  outage: Outage
  log: Logger
  /** A group was not there: Redis is new, or has lost its memory. */
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

  /** Runs `work`; when Redis cannot do it now, waits a little and gives `otherwise`. */
  async run<T>(work: () => Promise<T>, otherwise: T, signal: AbortSignal): Promise<T> {
    if (this.closed) throw new Error('The feed is closed.')
    if (this.redis.status !== 'ready') await this.recovered.wait(PAUSE_MAX_MS, signal)
    if (this.redis.status !== 'ready') return otherwise // still on its way, or away: the connection's own errors say so
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

  /** Runs a command that blocks, and ends the block when `signal` aborts. */
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
    this.grouped = false // it may be another Redis than before
    this.clientId = null
    this.redis.client('ID').then((id) => void (this.clientId = id), this.options.outage.begin)
    this.recovered.ring()
  }

  private async pause(error: unknown, signal: AbortSignal): Promise<void> {
    if (isReply(error, 'Command timed out')) this.redis.disconnect(true) // its answer, if any, would come too late
    const outage = this.redis.status === 'ready' ? this.troubles : this.options.outage
    outage.begin(error)
    await this.recovered.wait(this.pauseMs, signal)
    this.pauseMs = Math.min(PAUSE_MAX_MS, this.pauseMs * 2)
  }

  /** Said again until it is heard: the block may still be on its way. Closing instead would lose what it was just given. */
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
      if (this.clientId !== null) await this.options.commands.client('UNBLOCK', this.clientId).catch(() => {}) // again below
      await sleep(UNBLOCK_AGAIN_MS, undefined, { signal: over }).catch(() => {})
    }
  }
}

/** At `0`: what was announced before the first worker came is read too. Resolves to whether any was missing. */
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
