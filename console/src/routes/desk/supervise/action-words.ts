import type { Stated } from '../../../parts/data/state-badge.tsx'

const ACTIONS: Readonly<Record<string, Stated>> = {
  created: { tone: 'quiet', word: 'Came' },
  seen: { tone: 'quiet', word: 'Looked at' },
  claimed: { tone: 'active', word: 'Claimed' },
  renewed: { tone: 'active', word: 'Renewed' },
  solving: { tone: 'active', word: 'Being solved' },
  released: { tone: 'quiet', word: 'Given back' },
  lapsed: { tone: 'warn', word: 'Lapsed' },
  stolen: { tone: 'warn', word: 'Taken away' },
  failed: { tone: 'warn', word: 'Gave up' },
  reopened: { tone: 'quiet', word: 'Opened again' },
  solved: { tone: 'good', word: 'Solved' },
  unsolvable: { tone: 'bad', word: 'Unsolvable' },
  expired: { tone: 'quiet', word: 'Expired' },
  cancelled: { tone: 'quiet', word: 'Withdrawn' },
  revealed: { tone: 'warn', word: 'Revealed' },
  cookies_shown: { tone: 'quiet', word: 'Cookies shown' },
  framed: { tone: 'quiet', word: 'Page opened' },
  reported_bad: { tone: 'bad', word: 'Reported as bad' },
  reported_good: { tone: 'good', word: 'Reported as good' },
  session_deleted: { tone: 'quiet', word: 'Session deleted' },
  domain_allowed: { tone: 'good', word: 'Domain allowed' },
  domain_removed: { tone: 'warn', word: 'Domain removed' },
  cleaned_up: { tone: 'quiet', word: 'Cleaned up' },
}

/** What the audit trail calls an action, as people say it. */
export const actionState = (action: string): Stated =>
  ACTIONS[action] ?? { tone: 'quiet', word: action.replaceAll('_', ' ') }
