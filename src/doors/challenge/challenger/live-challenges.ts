// The topic `challenges`: those of an account's own challenges that a page has in sight, whenever one of them has changed, and
// the newest one.
import { Type } from 'typebox'
import type { Deps } from '../../../core/door.ts'
import { both, lookLoop, openSights } from '../../../core/live/sights.ts'
import { liveTopic, type LiveTopic } from '../../../core/live/topic.ts'
import type { Loop } from '../../../core/loop.ts'
import { SEND_TOPIC } from '../deliveries/topics.ts'
import { STATE } from './challenge-store.ts'

const SELECT_OWN = `select challenge_id from challenges where account_id = $1 and challenge_id = any($2)`

// The newest result stands for all before it.
const SELECT_STATES = `
  select challenge_id, ${STATE} as state, solver_job_id, completed_at,
         (select is_correct from challenge_results r where r.challenge_id = c.challenge_id and r.is_final) as is_correct,
         (select max(result_id) from challenge_results r where r.challenge_id = c.challenge_id) as last_result
    from challenges c where challenge_id = any($1)`

const SELECT_NEWEST = `
  select a.account_id, c.challenge_id
    from unnest($1::bigint[]) as a (account_id),
         lateral (select challenge_id from challenges where account_id = a.account_id order by seq desc limit 1) as c`

const IN_SIGHT_MAX = 200

const Params = Type.Object(
  { challenge_ids: Type.Array(Type.String({ maxLength: 512 }), { maxItems: IN_SIGHT_MAX }) },
  { additionalProperties: false },
)

interface ChallengeStateRow {
  challenge_id: string
  state: string
}

export interface LiveChallenges {
  topic: LiveTopic
  loop: Loop
}

export function openLiveChallenges({ database, deliveries }: Pick<Deps, 'database' | 'deliveries'>): LiveChallenges {
  const sights = openSights(async (ids) => {
    const rows = await database.query<ChallengeStateRow>(SELECT_STATES, [ids])
    const attempts = await deliveries.lastAttempts(SEND_TOPIC, ids)
    return new Map(
      rows.map((row) => [row.challenge_id, { ...row, last_attempt: attempts.get(row.challenge_id) ?? null }]),
    )
  })
  const newest = openSights(async (accounts) => {
    const rows = await database.query<{ account_id: string; challenge_id: string }>(SELECT_NEWEST, [accounts])
    return new Map(rows.map((row) => [row.account_id, row.challenge_id]))
  })
  return {
    topic: liveTopic({
      name: 'challenges',
      roles: ['CHALLENGER', 'ADMIN'],
      params: Params,
      async open({ params: { challenge_ids: ids }, account, send }) {
        const own = await database.query<ChallengeStateRow>(SELECT_OWN, [account.accountId, ids])
        return both(
          sights.open(
            own.map((row) => row.challenge_id),
            (changed) => send('changed', { challenges: changed }),
          ),
          newest.open([String(account.accountId)], ([id]) => send('newest', { challenge_id: id })),
        )
      },
    }),
    loop: lookLoop('challenges', sights, newest),
  }
}
