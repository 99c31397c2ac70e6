// The frame's host knows no login. The console asks for a ticket, opens an address with it, and the frame's host exchanges it, once,
// for a cookie that no script can read: the page that is then shown has nothing secret in its address. Both are sealed, name their
// task, and hold the credential of the operator who asked: when that one ends (a logout, a revoked key, a closed account), so do they.
import { Type, type Static } from 'typebox'
import { Check } from 'typebox/value'
import type { Credential } from '../../../core/identity/secrets.ts'
import { Unsealable, type About, type Sealer } from '../solutions/seal.ts'
import { FRAME_PATH } from './frame-url.ts'

const TICKET_SEC = 900
const COOKIE = 'reeve_frame'

const Admission = Type.Object({
  /** Unix seconds. */
  expires: Type.Number(),
  holder: Type.Union([
    Type.Object({ kind: Type.Enum(['token', 'api_key']), secret: Type.String() }),
    /** With CAPTCHA_AUTH=off there is no credential. */
    Type.Object({ operator: Type.String() }),
  ]),
})
type Admission = Static<typeof Admission>

export type TicketHolder = Credential | { operator: string }

export interface Tickets {
  issue(uuid: string, holder: TicketHolder, nowMs: number): { text: string; expiresAt: Date }
  /** The `Set-Cookie` line for a ticket. Null: not ours, not for this task, or expired. */
  cookieFor(text: string, uuid: string, nowMs: number): string | null
  /** Whose cookie is in this `Cookie` header. Null: none, not ours, not for this task, or expired. */
  holderOf(header: string | undefined, uuid: string, nowMs: number): TicketHolder | null
}

export const openTickets = (sealer: Sealer): Tickets => ({
  issue(uuid, holder, nowMs) {
    const expires = Math.floor(nowMs / 1000) + TICKET_SEC
    return { text: sealer.seal(`frame:${uuid}`, { expires, holder }), expiresAt: new Date(expires * 1000) }
  },
  cookieFor(text, uuid, nowMs) {
    const admission = open(sealer, `frame:${uuid}`, text, nowMs)
    if (admission === null) return null
    const value = sealer.seal(`frame_cookie:${uuid}`, admission)
    const maxAgeSec = admission.expires - Math.floor(nowMs / 1000)
    return cookieLine(value, uuid, maxAgeSec)
  },
  holderOf(header, uuid, nowMs) {
    for (const part of (header ?? '').split(';')) {
      const [name, value = ''] = part.trim().split('=', 2)
      const admission = name === COOKIE ? open(sealer, `frame_cookie:${uuid}`, value, nowMs) : null
      if (admission !== null) return admission.holder
    }
    return null
  },
})

// A page in the sandbox has an opaque origin, so that every request of it is of another site: SameSite=None, which browsers take with
// Secure only (and on localhost). Partitioned: it is sent inside the console, and in no other site's frames.
const cookieLine = (value: string, uuid: string, maxAgeSec: number): string =>
  `${COOKIE}=${value}; Path=${FRAME_PATH}/${uuid}; Max-Age=${maxAgeSec}; HttpOnly; Secure; SameSite=None; Partitioned`

function open(sealer: Sealer, about: About, text: string, nowMs: number): Admission | null {
  try {
    const admission = sealer.open(about, text)
    return Check(Admission, admission) && admission.expires * 1000 > nowMs ? admission : null
  } catch (error) {
    if (error instanceof Unsealable) return null
    throw error
  }
}
