// Pairing turns waiting players into matches. One transaction removes them from the queue, inserts the matches and submits
// their jobs; nobody is told before it commits. An advisory lock allows one pass at a time over all nodes, which keeps the
// order of joining. A pass makes up to a thousand pairs; joins and cancels do not wait for it.
import type { Outbox } from '../../../core/outbox/outbox.ts'
import type { Database, Pool, Tx } from '../../../core/db/database.ts'
import { hideFromPlanner } from '../../../core/db/sql.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { groupBy } from '../../../core/values/group-by.ts'
import { newJobId } from '../../../core/random.ts'
import { BOT, MATCH_KIND, shownName, type Match, type Mode, type Participant } from '../match.ts'
import type { ArenaSettings } from '../settings.ts'
import { pairByRating } from './pair-by-rating.ts'

const PLAYERS_PER_PASS_MAX = 2000
/** Private matches have no queue: their players wait for somebody with the same code. */
const QUEUES = ['normal', 'rated', 'bot'] as const
type QueueMode = (typeof QUEUES)[number]
/** A node that has not announced itself for this long gets no match. */
const NODE_LOST_SEC = 10

// Any number that nothing else uses.
const LOCK = `select pg_advisory_xact_lock(7305860)`

export const CAN_PAIR = `
  exists (select from seats where mode = 'bot' and match_id is null)
      or (select count(*) from (select from seats where match_id is null limit 2) as two) = 2`
const SELECT_CAN_PAIR = `select ${CAN_PAIR} as can`

const WAITING = `
  select s.user_id, s.mode, s.code, a.username, a.is_guest, p.rating, p.rd, p.volatility, p.games,
         (extract(epoch from clock_timestamp() - s.joined_at) * 1000)::float8 as waited_ms,
         array(select w.node from presences w join arena_nodes n on n.node = w.node
                where w.user_id = s.user_id and n.seen_at > statement_timestamp() - ${NODE_LOST_SEC} * interval '1 second'
              ) as nodes
    from seats s
    join players p on p.user_id = s.user_id
    join accounts a on a.account_id = s.user_id`

// A row that is locked (a cancel) is left for the next pass.
const IN_ORDER = `order by s.number limit $1 for update of s skip locked`

const SELECT_WAITING = `
  ${WAITING}
   where s.mode = $2 and s.code is null and s.match_id is null and s.expires_at > statement_timestamp()
   ${IN_ORDER}`

// Only those whose partner waits too: the others do not use up the pass.
const SELECT_WITH_PARTNER = `
  ${WAITING}
   where s.code is not null and ${hideFromPlanner('s.match_id is null and s.expires_at > statement_timestamp()')}
     and exists (select from seats o where o.code = s.code and o.mode = s.mode and o.user_id <> s.user_id
                    and ${hideFromPlanner('o.match_id is null and o.expires_at > statement_timestamp()')})
   ${IN_ORDER}`

const MAKE_MATCHES = `
  with made as materialized (
    select match_id, mode, user_a, user_b, participants, ticks, tick_interval_ms, node
      from json_to_recordset($1) as r (match_id uuid, mode text, user_a bigint, user_b bigint, participants json,
           ticks integer, tick_interval_ms integer, node text)
  ), seated as (
    update seats set match_id = pair.match_id
      from (select match_id, user_a as user_id from made union all select match_id, user_b from made) as pair
     where seats.user_id = pair.user_id
  )
  insert into live_matches (match_id, mode, user_a, user_b, participants, ticks, tick_interval_ms, attempt_id, node)
  select match_id, mode, user_a, user_b, participants, ticks, tick_interval_ms, 1, node from made
  returning match_id, created_at`

export interface Paired {
  match: Match
  /** The node that will run it. */
  node: string
}

export interface PairingDeps {
  database: Database
  ledger: Ledger
  outbox: Pick<Outbox, 'wake'>
  settings: ArenaSettings
  /** This node, which runs a match if neither player is connected anywhere. */
  node: string
}

export interface PairingPass {
  paired: Paired[]
  /** The pass took as many players as it can: there may be more. */
  isFull: boolean
}

/** A cheap check before the pass, which locks rows. */
export async function canPair(pool: Pool): Promise<boolean> {
  const [row] = await pool.query<{ can: boolean }>(SELECT_CAN_PAIR)
  return row?.can === true
}

/** One pass. When it resolves, the matches are committed and no node runs them yet. */
export async function pairOnce(deps: PairingDeps): Promise<PairingPass> {
  const pass = await deps.database.hot.transaction(async (tx) => {
    await tx.query(LOCK)
    const passes = [await pairWithCode(tx, deps)]
    for (const mode of QUEUES) passes.push(await pairQueue(tx, deps, mode))
    const paired = passes.flatMap((one) => one.paired)
    const jobs = paired.map(({ match }) => jobOf(match))
    if (jobs.length > 0) await deps.ledger.submitIn(tx, jobs)
    return { paired, isFull: passes.some((one) => one.isFull) }
  })
  if (pass.paired.length > 0) deps.outbox.wake() // with Redis, each job has an outbox row
  return pass
}

const jobOf = ({ matchId, mode, participants: [a, b] }: Match) => ({
  kind: MATCH_KIND,
  jobId: matchId,
  payload: { mode, user_ids: [a.userId, b.userId] },
  maxAttempts: null, // the node that takes it over decides whether it continues
})

async function pairQueue(tx: Tx, deps: PairingDeps, mode: QueueMode): Promise<PairingPass> {
  const rows = await tx.query<WaitingRow>(SELECT_WAITING, [PLAYERS_PER_PASS_MAX, mode])
  const pairs = pairsOf(mode, rows.map(waitingFrom))
  return { paired: await makeMatches(tx, deps, pairs), isFull: isFull(rows, pairs) }
}

/** Private matches and rematches. */
async function pairWithCode(tx: Tx, deps: PairingDeps): Promise<PairingPass> {
  const rows = await tx.query<WaitingRow>(SELECT_WITH_PARTNER, [PLAYERS_PER_PASS_MAX])
  const groups = groupBy(rows.map(waitingFrom), ({ mode, code }) => `${mode} ${code}`)
  const pairs = [...groups.values()].flatMap(pairInOrder)
  return { paired: await makeMatches(tx, deps, pairs), isFull: isFull(rows, pairs) }
}

const isFull = (rows: readonly WaitingRow[], pairs: readonly PlayerPair[]): boolean =>
  rows.length === PLAYERS_PER_PASS_MAX && pairs.length > 0

async function makeMatches(tx: Tx, { settings, node }: PairingDeps, pairs: readonly PlayerPair[]): Promise<Paired[]> {
  if (pairs.length === 0) return []
  const drafts = pairs.map(([a, b]) => ({
    match: {
      matchId: newJobId(),
      mode: a.mode,
      participants: [a.participant, b.participant] as const,
      ticks: settings.SESSION_TICKS,
      tickIntervalMs: settings.SESSION_TICK_INTERVAL_MS,
    },
    node: nodeFor(a, b, node),
  }))
  const made = await tx.query<{ match_id: string; created_at: Date }>(MAKE_MATCHES, [
    JSON.stringify(drafts.map(({ match, node }) => rowOf(match, node))),
  ])
  const createdAt = new Map(made.map((row) => [row.match_id, row.created_at.toISOString()]))
  return drafts.map((draft) => ({
    ...draft,
    match: { createdAt: createdAt.get(draft.match.matchId) ?? '', ...draft.match },
  }))
}

const rowOf = (match: Omit<Match, 'createdAt'>, node: string) => ({
  match_id: match.matchId,
  mode: match.mode,
  user_a: match.participants[0].userId,
  user_b: match.participants[1].userId,
  participants: match.participants,
  ticks: match.ticks,
  tick_interval_ms: match.tickIntervalMs,
  node,
})

type PlayerPair = [WaitingPlayer, WaitingPlayer]

function pairsOf(mode: QueueMode, waiting: readonly WaitingPlayer[]): PlayerPair[] {
  switch (mode) {
    case 'normal':
      return pairInOrder(waiting)
    case 'rated':
      return pairByRating(waiting)
    case 'bot':
      return waiting.map((player) => [player, BOT_WAITING])
  }
}

/** First come, first served. The last of an odd number keeps waiting. */
function pairInOrder<T>(waiting: readonly T[]): [T, T][] {
  const pairs: [T, T][] = []
  let first: T | null = null
  for (const player of waiting) {
    if (first === null) {
      first = player
    } else {
      pairs.push([first, player])
      first = null
    }
  }
  return pairs
}

interface WaitingPlayer {
  mode: Mode
  participant: Participant
  rating: number
  code: string | null
  waitedMs: number
  /** To which the player is connected. */
  nodes: readonly string[]
}

const BOT_WAITING: WaitingPlayer = {
  mode: 'bot',
  participant: BOT,
  rating: BOT.rating,
  code: null,
  waitedMs: 0,
  nodes: [],
}

/** A node to which both are connected, else one of them, else this node. */
function nodeFor(a: WaitingPlayer, b: WaitingPlayer, here: string): string {
  const shared = a.nodes.filter((node) => b.nodes.includes(node))
  const candidates = shared.length > 0 ? shared : [...a.nodes, ...b.nodes]
  return candidates.includes(here) ? here : (candidates[0] ?? here)
}

interface WaitingRow {
  user_id: string
  mode: Mode
  code: string | null
  username: string
  is_guest: boolean
  rating: number
  rd: number
  volatility: number
  games: number
  waited_ms: number
  nodes: string[]
}

function waitingFrom(row: WaitingRow): WaitingPlayer {
  const { mode, code, rating, rd, volatility, games, waited_ms: waitedMs, nodes } = row
  const userId = Number(row.user_id)
  const username = shownName(userId, row.username)
  return {
    mode,
    participant: { userId, username, isGuest: row.is_guest, rating, rd, volatility, games },
    rating,
    code,
    waitedMs,
    nodes,
  }
}
