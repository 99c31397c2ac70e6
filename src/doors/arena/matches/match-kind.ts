// The kind `match`: a job that a node runs for two players. A job that ends otherwise (an admin cancels it) leaves a void
// match and frees its players.
import type { Kind } from '../../../core/executor/kind.ts'
import { MATCH_KIND } from '../match.ts'
import { effectsOfVoid } from './result-effects.ts'

export const matchKind: Kind = {
  name: MATCH_KIND,
  effectsOfDeath: ({ jobId }) => effectsOfVoid(jobId),
}
