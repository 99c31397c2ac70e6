// The frame has no cookie and no token: whoever opens it shows a ticket that is part of the address. It names the task and
// the operator, lasts a few minutes, and is good only while that operator holds the task.
import type { Sealer } from '../solutions/seal.ts'

const TICKET_SEC = 900

export interface Ticket {
  uuid: string
  operator: string
  /** Unix seconds. */
  expires: number
}

export interface Tickets {
  issue(uuid: string, operator: string, nowMs: number): { text: string; expiresAt: Date }
  /** Null: not ours, not for this task, or over. */
  read(text: string, uuid: string, nowMs: number): Ticket | null
}

export function openTickets(sealer: Sealer): Tickets {
  const signed = (uuid: string, body: string) => `frame ${uuid} ${body}`
  return {
    issue(uuid, operator, nowMs) {
      const expires = Math.floor(nowMs / 1000) + TICKET_SEC
      const body = Buffer.from(JSON.stringify([expires, operator])).toString('base64url')
      return { text: `${body}.${sealer.sign(signed(uuid, body))}`, expiresAt: new Date(expires * 1000) }
    },
    read(text, uuid, nowMs) {
      const [body = '', signature = ''] = text.split('.')
      if (!sealer.isSigned(signed(uuid, body), signature)) return null
      const [expires, operator]: unknown[] = JSON.parse(Buffer.from(body, 'base64url').toString())
      if (typeof expires !== 'number' || typeof operator !== 'string' || expires * 1000 <= nowMs) return null
      return { uuid, operator, expires }
    },
  }
}
