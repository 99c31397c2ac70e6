// Waiting for the session of a domain, and telling those who wait.
import type { Bus } from '../../../core/events/bus.ts'
import { openHintedWaits, type HintedWaits } from '../../../core/events/hinted-waits.ts'
import type { SessionKey, SessionRow } from './session-store.ts'

const CHANNEL = 'reeve:desk:sessions'

/** `wait` answers the live sessions once there is one, or none when the time is up. Its loop is for processes that serve. */
export interface SessionWaits extends HintedWaits<SessionKey, readonly SessionRow[]> {
  /** After the commit that stored it. */
  announce(of: SessionKey): void
}

export function openSessionWaits(bus: Bus, read: (of: SessionKey) => Promise<readonly SessionRow[]>): SessionWaits {
  const nameOf = ({ accountId, domain }: SessionKey) => `${accountId} ${domain}`
  const waits = openHintedWaits({
    bus,
    channel: CHANNEL,
    namesIn: (name) => [name],
    nameOf,
    read,
    isFinal: (sessions) => sessions.length > 0,
  })
  return { ...waits, announce: (of) => bus.publish(CHANNEL, nameOf(of)) }
}
