// The frame has no cookie and no token: whoever opens it shows a ticket that is part of the address. It is sealed, names its task,
// lasts a few minutes, and holds the credential of the operator who asked for it: when that one ends (a logout, a revoked key, a
// closed account), so does the ticket. A page in the frame can read the ticket, which is good for the site of its own task only.
import { Type } from 'typebox'
import { Check } from 'typebox/value'
import type { Credential } from '../../../core/identity/secrets.ts'
import { Unsealable, type Sealer } from '../solutions/seal.ts'

const TICKET_SEC = 900

const Ticket = Type.Object({
  /** Unix seconds. */
  expires: Type.Number(),
  holder: Type.Union([
    Type.Object({ kind: Type.Enum(['token', 'api_key']), secret: Type.String() }),
    /** With CAPTCHA_AUTH=off there is no credential. */
    Type.Object({ operator: Type.String() }),
  ]),
})

export type TicketHolder = Credential | { operator: string }

export interface Tickets {
  issue(uuid: string, holder: TicketHolder, nowMs: number): { text: string; expiresAt: Date }
  /** Null: not ours, not for this task, or expired. */
  read(text: string, uuid: string, nowMs: number): TicketHolder | null
}

export const openTickets = (sealer: Sealer): Tickets => ({
  issue(uuid, holder, nowMs) {
    const expires = Math.floor(nowMs / 1000) + TICKET_SEC
    return { text: sealer.seal(`frame:${uuid}`, { expires, holder }), expiresAt: new Date(expires * 1000) }
  },
  read(text, uuid, nowMs) {
    const ticket = opened(sealer, text, uuid)
    return Check(Ticket, ticket) && ticket.expires * 1000 > nowMs ? ticket.holder : null
  },
})

function opened(sealer: Sealer, text: string, uuid: string): unknown {
  try {
    return sealer.open(`frame:${uuid}`, text)
  } catch (error) {
    if (error instanceof Unsealable) return null
    throw error
  }
}
