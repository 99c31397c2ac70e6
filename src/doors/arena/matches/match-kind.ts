// The kind `match`: a job whose hands are two players and the node between them. A job that dies some other way (an admin
// cancels it) leaves a void match, and its players free.
import type { Kind } from '../../../core/executor/kind.ts'
import { MATCH_KIND } from '../match.ts'
import { effectsOfVoid } from './result-effects.ts'

export const matchKind: Kind = {
  name: MATCH_KIND,
  effectsOfDeath: ({ jobId }) => effectsOfVoid(jobId),
}
