// The bus carries hints between processes: "a job of this kind is ready", "these jobs have ended", a live message. It may
// lose what it carries (a restart, a broken connection); whoever needs certainty reads the database as well.

export interface Bus {
  /** Never waits and never throws: local subscribers hear it at once, the others within a few milliseconds. */
  publish(channel: string, message: string): void
  /** The message as part of a commit, which saves a round trip; null where `publish` is better. */
  within?(channel: string, message: string): WithCommit | null
  /** Returns how to stop listening. `onGap` is called when messages may have been lost. */
  subscribe(channel: string, listener: Listener, onGap?: () => void): () => void
  close(): Promise<void>
}

/** What a statement says with `pg_notify` as it commits. */
export interface WithCommit {
  channel: string
  message: string
  /** After the commit: who listens in this process hears it too. */
  said(): void
}

export type Listener = (message: string) => void

interface BusSubscription {
  listener: Listener
  onGap: () => void
}

/** Who listens in this process. Both kinds of bus stand on it. */
export class LocalSubscriptions {
  private readonly of = new Map<string, Set<BusSubscription>>()

  /** Returns whether this is the first subscription of its channel. */
  add(channel: string, subscription: BusSubscription): boolean {
    const known = this.of.get(channel)
    if (known !== undefined) {
      known.add(subscription)
      return false
    }
    this.of.set(channel, new Set([subscription]))
    return true
  }

  /** Returns whether that was the last one of its channel. */
  remove(channel: string, subscription: BusSubscription): boolean {
    const known = this.of.get(channel)
    known?.delete(subscription)
    return known !== undefined && known.size === 0 && this.of.delete(channel)
  }

  deliver(channel: string, message: string): void {
    for (const { listener } of this.of.get(channel) ?? []) listener(message)
  }

  /** On one channel, or on all of them. */
  gap(channels: Iterable<string> = this.of.keys()): void {
    for (const channel of channels) for (const { onGap } of this.of.get(channel) ?? []) onGap()
  }

  channels(): string[] {
    return [...this.of.keys()]
  }
}
