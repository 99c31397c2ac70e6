// Finds matches that no node runs: their node died and the lease expired, it stopped and released them, or it never
// received the message that they were paired for it. Every node looks once a second; the ledger lets one acquire each.
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { Wake, type Loop } from '../../../core/loop.ts'
import { MATCH_KIND } from '../match.ts'
import type { Runner } from './runner.ts'

const EVERY_MS = 1000
/** How long a new match is left to the node that it was paired for. */
const FRESH_MS = 2000
/** Per pass, so that several nodes share the matches of one that died. */
const TAKE_MAX = 200

export function takeoverLoop({ ledger, runner }: { ledger: Ledger; runner: Runner }): Loop & { wake: Wake } {
  return {
    name: 'take-over-matches',
    everyMs: EVERY_MS,
    wake: new Wake(),
    isDue: `exists (select from live_matches)`,
    async runOnce() {
      const abandoned = await ledger.findAbandoned({ kinds: [MATCH_KIND], exhausted: false })
      const waiting = await ledger.findWaiting({
        kind: MATCH_KIND,
        olderThanMs: FRESH_MS,
        after: null,
        limit: TAKE_MAX,
      })
      const matchIds = [...abandoned, ...waiting.jobs].map(({ jobId }) => jobId)
      await runner.take(matchIds.slice(0, TAKE_MAX))
      return matchIds.length > TAKE_MAX
    },
  }
}
