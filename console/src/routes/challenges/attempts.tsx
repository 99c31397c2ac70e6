// Attempts to deliver a signed request, as the lines of a timeline: what was asked, what came back, and why it failed.
import type { DeliveryAttempt } from '@reeve/sdk'
import type { TimelineEntry } from '../../parts/data/timeline.tsx'
import { isolated } from '../../parts/text/isolated.ts'

/** Of a challenge that is sent, only 202 means that it was accepted. */
const isAccepted = (topic: string, status: number | null): boolean =>
  status !== null && (topic === 'challenge_send' ? status === 202 : status >= 200 && status < 300)

/** The server lists the newest first; a timeline begins with the oldest. */
export const attemptEntries = (topic: string, attempts: readonly DeliveryAttempt[]): TimelineEntry[] =>
  attempts.toReversed().map((attempt, index) => entryOf(attempt, index, isAccepted(topic, attempt.status_code)))

function entryOf(attempt: DeliveryAttempt, index: number, isDelivered: boolean): TimelineEntry {
  const { created_at: at, duration_ms: ms, url } = attempt
  // It is logged when it is over.
  const from = new Date(Date.parse(at) - ms).toISOString()
  return {
    key: `${index}`,
    at: from,
    until: at,
    title: `Attempt ${attempt.attempt}`,
    tone: isDelivered ? 'good' : 'bad',
    word: isDelivered ? 'Delivered' : 'Failed',
    detail: (
      <>
        <span className="block font-mono text-[13px] wrap-anywhere">POST {url}</span>
        <span className="block wrap-anywhere" dir="auto">
          {outcomeOf(attempt)}
        </span>
      </>
    ),
  }
}

const CAUSES: Readonly<Record<string, string>> = {
  network_error: 'the connection failed',
  tls_error: 'the TLS connection failed',
  timed_out: 'it took too long',
  unresolvable: 'the name has no address',
  answer_too_large: 'the answer is too large',
  forbidden_address: 'the address is not public',
  ambiguous_address: 'the address is ambiguous',
  invalid_url: 'the address is no URL',
  credentials_in_url: 'the URL holds credentials',
  no_key: 'no key is set to sign it with',
}

/** What came back, or why nothing did: in words, with the code of the network or of the other side. */
function outcomeOf({ status_code: status, error, cause, peer_code: peerCode }: DeliveryAttempt): string {
  if (status !== null)
    return peerCode === null ? `Answer ${status}` : `Answer ${status}: the other side says ${isolated(peerCode)}`
  const words = error === null ? '' : (CAUSES[error] ?? error.replaceAll('_', ' '))
  return ['No answer', ...(words === '' ? [] : [words])].join(': ') + (cause === null ? '' : `, ${isolated(cause)}`)
}
