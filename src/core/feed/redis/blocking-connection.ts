// A connection that a blocking read of one kind occupies. It waits while Redis is away instead of failing, and notices when Redis
// has lost what this kind keeps there.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { Wake } from '../../loop.ts'
import { openConnection, openOutage, type Outage } from './connection.ts'
import type { KindQueueDeps } from './queue.ts'
import { isReply } from './scripts/script.ts'

const UNBLOCK_AGAIN_MS = 20
const PAUSE_FIRST_MS = 50
const PAUSE_MAX_MS = 1000
/** Errors of reads that say so: the group, or the mark of a sorted set, is gone. */
const LOSSES = ['NOGROUP', 'UNBLOCKED', 'NOMARK']

interface BlockingConnectionOptions extends KindQueueDeps {
  /** Creates what reads need, again whenever it is missing. Resolves to whether it was. */
  prepare(redis: Redis): Promise<boolean>
  /** It was missing: Redis is new, or has lost its data. */
  onLoss(): void
}

export class BlockingConnection {
  readonly redis: Redis
  private readonly options: BlockingConnectionOptions
  private readonly troubles: Outage
  private readonly recovered = new Wake()
  private prepared = false
  private closed = false
  private pauseMs = PAUSE_FIRST_MS
  private clientId: number | null = null

  constructor(options: BlockingConnectionOptions) {
    this.options = options
    const { kind, outage, options: feed } = options
    this.troubles = openOutage(feed.log.child({ kind }))
    this.redis = openConnection(feed.url, `reeve-feed-${kind}`, outage)
    this.redis.on('ready', () => this.begin())
  }

  /** Runs `work`. If Redis cannot do it now, waits a little and returns `otherwise`. */
  async run<T>(work: () => Promise<T>, otherwise: T, signal: AbortSignal): Promise<T> {
    if (this.closed) throw new Error('The feed is closed.')
    if (this.redis.status !== 'ready') await this.recovered.wait(PAUSE_MAX_MS, signal)
    if (this.redis.status !== 'ready') return otherwise // the outage is logged once, elsewhere
    try {
      if (!this.prepared && (await this.options.prepare(this.redis))) this.options.onLoss()
      this.prepared = true
      const result = await work()
      this.pauseMs = PAUSE_FIRST_MS
      this.troubles.end()
      return result
    } catch (error) {
      if (LOSSES.some((code) => isReply(error, code))) this.prepared = false
      else if (!this.closed) await this.pause(error, signal)
      return otherwise
    }
  }

  /** Runs a command that blocks, and ends the block when `signal` aborts. */
  async block<T>(command: () => Promise<T>, signal: AbortSignal): Promise<T> {
    const over = new AbortController()
    const unblocking = this.unblock(signal, over.signal)
    try {
      return await command()
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
    this.prepared = false // it may be another Redis now
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
