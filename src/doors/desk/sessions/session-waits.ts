// Waiting for the session of a domain. A hint on the bus says that one was stored; the database says which. Hints may be
// lost, so that whoever waits looks again every few seconds.
import type { Bus } from '../../../core/events/bus.ts'
import type { Loop } from '../../../core/loop.ts'
import type { OfDomain, SessionRow } from './session-store.ts'

const CHANNEL = 'reeve:desk:sessions'
const LOOK_AGAIN_MS = 2000
const WAITING_MAX = 100_000

export interface SessionWaits {
  /** After the commit that stored it. */
  announce(of: OfDomain): void
  /** The live ones once there is any, or none when the time is up. */
  wait(of: OfDomain, options: { timeoutMs: number; signal: AbortSignal }): Promise<readonly SessionRow[]>
  /** For processes that serve. */
  loop: Loop
  close(): void
}

export function openSessionWaits(bus: Bus, read: (of: OfDomain) => Promise<readonly SessionRow[]>): SessionWaits {
  const waiting = new Map<string, Set<() => void>>()
  const nameOf = ({ accountId, domain }: OfDomain) => `${accountId} ${domain}`
  const look = (names: Iterable<string>) => {
    for (const name of names) for (const check of waiting.get(name) ?? []) check()
  }
  const unsubscribe = bus.subscribe(
    CHANNEL,
    (name) => look([name]),
    () => look([...waiting.keys()]),
  )

  return {
    announce: (of) => bus.publish(CHANNEL, nameOf(of)),

    async wait(of, { timeoutMs, signal }) {
      if (waiting.size >= WAITING_MAX || signal.aborted) return read(of)
      return new Promise((resolve, reject) => {
        const name = nameOf(of)
        const leave = () => {
          clearTimeout(deadline)
          signal.removeEventListener('abort', giveUp)
          const others = waiting.get(name)
          others?.delete(check)
          if (others?.size === 0) waiting.delete(name)
        }
        const fail = (error: unknown) => {
          leave()
          reject(error)
        }
        const check = () => {
          read(of).then((sessions) => {
            if (sessions.length === 0) return
            leave()
            resolve(sessions)
          }, fail)
        }
        const giveUp = () => {
          leave()
          read(of).then(resolve, reject)
        }
        const deadline = setTimeout(giveUp, timeoutMs)
        signal.addEventListener('abort', giveUp)
        waiting.set(name, (waiting.get(name) ?? new Set()).add(check))
        check() // it may have been stored before anyone listened
      })
    },

    loop: {
      name: 'look for sessions that are waited for',
      everyMs: LOOK_AGAIN_MS,
      async runOnce() {
        look([...waiting.keys()])
        return false
      },
    },
    close: unsubscribe,
  }
}
