// The one live connection of this tab, shared by all parts. Parts follow topics; a lost connection is opened again by the SDK,
// which follows every topic on from what was seen last.
import type { LiveClient, LiveMessage, LiveState } from '@reeve/sdk'
import { useEffect, useEffectEvent, useSyncExternalStore } from 'react'
import { client } from '../session/client.ts'
import { dropDeadConnections } from './connections.ts'

/** `off`: nobody is signed in, or nothing on this page is live. */
export type Connection = LiveState | 'off'

let live: LiveClient | null = null
const listeners = new Set<() => void>()
const tell = () => listeners.forEach((listener) => listener())

function connection(): LiveClient {
  if (live === null) {
    const opened = client.live()
    let before = opened.state
    opened.onState((state) => {
      if (before === 'reconnecting' && state === 'live') dropDeadConnections()
      before = state
      tell()
    })
    live = opened
    tell()
  }
  return live
}

export function closeLive(): void {
  live?.close()
  live = null
  tell()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export const useConnection = (): Connection =>
  useSyncExternalStore(subscribe, () => (live === null ? 'off' : live.state))

/** Until when what is shown is known to be current. */
export const heardAt = (): number => live?.heardAt ?? 0

if (typeof window !== 'undefined') {
  window.addEventListener('online', () => live?.retry())
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') live?.retry()
  })
}

export interface UseLive {
  topic: string
  /** A change follows the topic anew. Compared by its JSON. */
  params?: unknown
  /** What is sent in their place whenever the topic is followed: what the page has by then. A change follows nothing anew. */
  paramsOnFollow?: () => unknown
  since?: number | undefined
  /**
   * False: not yet, or not any more. A list is followed while no answer is under way (`!list.isFetching`): the answer may be older than
   * a message, and takes its place. The server tells everything in sight again when it is followed again.
   */
  enabled?: boolean
  onMessage(message: LiveMessage): void
  onRefused?(code: string): void
}

/** Follows a topic while the part is shown. */
export function useLive({ topic, params, paramsOnFollow, since, enabled = true, onMessage, onRefused }: UseLive): void {
  const key = JSON.stringify(params ?? {})
  const hear = useEffectEvent((message: LiveMessage) => onMessage(message))
  const refuse = useEffectEvent((code: string) => onRefused?.(code))
  const current = useEffectEvent((): unknown => paramsOnFollow?.() ?? JSON.parse(key))
  const begin = useEffectEvent(() =>
    connection().follow({
      topic,
      params: () => current(),
      ...(since === undefined ? {} : { since }),
      onMessage: (message) => hear(message),
      onRefused: (code) => refuse(code),
    }),
  )
  useEffect(() => (enabled ? begin() : undefined), [topic, key, enabled])
}
