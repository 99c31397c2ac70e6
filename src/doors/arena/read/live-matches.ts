// The topic `matches` of /live: the newest finished match of the account, whenever there is another, and the matches that run.
import { Type } from 'typebox'
import type { Database } from '../../../core/db/database.ts'
import { both, lookLoop, openSights } from '../../../core/live/sights.ts'
import { liveTopic, type LiveTopic } from '../../../core/live/topic.ts'
import type { Loop } from '../../../core/loop.ts'
import { runningMatches } from './running-matches.ts'

// One index per side of a match, each read at its newest end.
const SELECT_NEWEST = `
  select a.user_id, m.match_id
    from unnest($1::bigint[]) as a (user_id),
         lateral (
           select match_id from (
             (select match_id from match_results where user_a = a.user_id order by match_id desc limit 1)
              union all
             (select match_id from match_results where user_b = a.user_id order by match_id desc limit 1)
           ) as sides order by match_id desc limit 1
         ) as m`

const Params = Type.Object({ running: Type.Optional(Type.Boolean()) }, { additionalProperties: false })

// One list for everybody who looks.
const ALL = ['all']
const NONE: string[] = []

export interface LiveMatchesDeps {
  database: Database
}

export function openLiveMatches({ database }: LiveMatchesDeps): { topic: LiveTopic; loop: Loop } {
  const newest = openSights(async (userIds) => {
    const rows = await database.query<{ user_id: string; match_id: string }>(SELECT_NEWEST, [userIds])
    return new Map(rows.map((row) => [row.user_id, row.match_id]))
  })
  const running = openSights(async ([all = '']) => {
    const matches = await runningMatches(database)
    return new Map([[all, matches.map(({ tick: _tick, ...unchanging }) => unchanging)]])
  })
  return {
    topic: liveTopic({
      name: 'matches',
      roles: [],
      params: Params,
      open: async ({ account: { accountId }, params, send }) =>
        both(
          newest.open([String(accountId)], ([matchId]) => send('newest', { matchId })),
          running.open(params.running === true ? ALL : NONE, ([matches]) => send('running', { matches })),
        ),
    }),
    loop: lookLoop('matches', newest, running),
  }
}
