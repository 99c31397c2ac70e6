// The player's connection of this tab: what the player does at the moment, and whether the server hears it. The server knows
// where a player is, so that a reload or a lost connection comes back to the same place.
import { ArenaClient, type ArenaError, type ArenaMode, type ArenaSession, type SessionEnded } from '@reeve/sdk/arena'
import { useEffect, useState, useSyncExternalStore } from 'react'

const WAIT_SEC = 60
/** A page that follows another uses the same connection. */
const CLOSE_AFTER_MS = 2000

export type Phase =
  | { is: 'connecting' }
  | { is: 'idle' }
  | { is: 'waiting'; mode: ArenaMode; since: number; expiresAt: string }
  | { is: 'playing'; session: ArenaSession }
  | { is: 'ended'; session: ArenaSession; ended: SessionEnded; rematch: 'none' | 'wanted' | 'asked' }

export interface ArenaView {
  phase: Phase
  isConnected: boolean
  isOpponentAway: boolean
  error: unknown
}

export class PlayerConnection {
  readonly client = new ArenaClient({ url: location.origin })
  readonly #listeners = new Set<() => void>()
  #view: ArenaView = { phase: { is: 'connecting' }, isConnected: false, isOpponentAway: false, error: null }

  constructor() {
    this.client.on('connection', (state) => {
      if (state !== 'open') this.#change({ isConnected: false })
    })
    this.client.on('session', (session) => this.#begin(session))
    this.client.on('queue', (queue) => this.#placed(queue ?? null))
    this.client.on('rematch', ({ sessionId }) => {
      const { phase } = this.#view
      if (phase.is === 'ended' && phase.session.sessionId === sessionId && phase.rematch === 'none')
        this.#change({ phase: { ...phase, rematch: 'wanted' } })
    })
    this.client.on('error', (error) => this.#refused(error))
    void this.#try(() => this.client.connect())
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly view = (): ArenaView => this.#view

  async play(mode: ArenaMode, code?: string): Promise<void> {
    await this.#try(async () => {
      await this.client.connect()
      if (this.#view.phase.is === 'waiting') await this.client.cancel()
      const joined = await this.client.join({ mode, timeoutSeconds: WAIT_SEC, ...(code === undefined ? {} : { code }) })
      if (this.#view.phase.is !== 'playing') this.#wait(mode, joined.expiresAt)
    })
  }

  async cancel(): Promise<void> {
    await this.#try(async () => {
      await this.client.cancel()
      this.#change({ phase: { is: 'idle' } })
    })
  }

  async rematch(): Promise<void> {
    const { phase } = this.#view
    if (phase.is !== 'ended') return
    await this.#try(async () => {
      await phase.session.rematch()
      if (this.#view.phase === phase) this.#change({ phase: { ...phase, rematch: 'asked' } })
    })
  }

  /** Back to the beginning. A rematch that was asked for is withdrawn. */
  async leave(): Promise<void> {
    const { phase } = this.#view
    this.#change({ phase: { is: 'idle' }, error: null })
    if (phase.is === 'ended' && phase.rematch === 'asked') await this.client.cancel().catch(() => {})
  }

  close(): void {
    this.client.close()
  }

  #begin(session: ArenaSession): void {
    this.#change({ phase: { is: 'playing', session }, isOpponentAway: false, error: null })
    session.onPresence(({ isPresent }) => this.#change({ isOpponentAway: !isPresent }))
    void session.ended.then((ended) => {
      const { phase } = this.#view
      if (phase.is === 'playing' && phase.session === session)
        this.#change({ phase: { is: 'ended', session, ended, rematch: 'none' }, isOpponentAway: false })
    })
  }

  /** Where the server says that the player is, after every connect. */
  #placed(queue: { mode: ArenaMode; expiresAt: string } | null): void {
    this.#change({ isConnected: true })
    const { phase } = this.#view
    if (phase.is === 'playing' || phase.is === 'ended') return
    if (queue === null) this.#change({ phase: { is: 'idle' } })
    else if (phase.is !== 'waiting') this.#wait(queue.mode, queue.expiresAt)
  }

  #wait(mode: ArenaMode, expiresAt: string): void {
    this.#change({ phase: { is: 'waiting', mode, since: Date.now(), expiresAt }, error: null })
  }

  #refused(error: ArenaError): void {
    const { phase } = this.#view
    if (error.code !== 'queue_timeout') return
    if (phase.is === 'waiting') this.#change({ phase: { is: 'idle' }, error })
    else if (phase.is === 'ended') this.#change({ phase: { ...phase, rematch: 'none' }, error })
  }

  async #try(action: () => Promise<unknown>): Promise<void> {
    try {
      await action()
    } catch (error) {
      this.#change({ error })
    }
  }

  #change(change: Partial<ArenaView>): void {
    this.#view = { ...this.#view, ...change }
    this.#listeners.forEach((listener) => listener())
  }
}

let shared: { userId: number; connection: PlayerConnection; users: number } | null = null

function take(userId: number): PlayerConnection {
  if (shared?.userId !== userId) {
    shared?.connection.close()
    shared = { userId, connection: new PlayerConnection(), users: 0 }
  }
  return shared.connection
}

/** Open while a page of the arena is shown. */
export function usePlayer(userId: number): { player: PlayerConnection; view: ArenaView } {
  const [player] = useState(() => take(userId))
  useEffect(() => {
    const own = shared
    if (own?.connection === player) own.users += 1
    return () => {
      if (own === null) return
      own.users -= 1
      setTimeout(() => {
        if (own.users > 0) return
        own.connection.close()
        if (shared === own) shared = null
      }, CLOSE_AFTER_MS)
    }
  }, [player])
  return { player, view: useSyncExternalStore(player.subscribe, player.view) }
}
