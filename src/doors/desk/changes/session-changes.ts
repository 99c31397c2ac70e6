// A session that is no longer good.
import type { DeletedSession } from '../sessions/session-store.ts'
import type { DeskChange } from './change.ts'
import { deskEvent } from './events.ts'

export const sessionExpired = (
  session: DeletedSession,
  reason: 'expired' | 'deleted' | 'reported_bad',
): DeskChange => ({
  events: [deskEvent.sessionExpired({ ...session, accountId: Number(session.account_id) }, reason)],
  // An expired one leaves Redis by its own time to live, and a newer session may have its key by now.
  mirror: reason === 'expired' ? [] : [{ type: 'no_session', domain: session.domain }],
})

export const sessionsDeleted = (actor: string, domain: string, count: number): DeskChange => ({
  audit: { action: 'session_deleted', actor, domain, detail: `${count}` },
})
