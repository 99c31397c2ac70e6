// Pairing turns waiting players into matches. One transaction removes them from the queue, inserts the matches and submits
// their jobs; nobody is told before it commits. An advisory lock allows one pass at a time over all nodes, which keeps the
// order of joining. A pass makes up to a thousand pairs; joins and cancels do not wait for it.
import type { Outbox } from '../../../core/outbox/outbox.ts'
import type { Database, Pool, Tx } from '../../../core/db/database.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import { groupBy } from '../../../core/values/group-by.ts'
import { newJobId } from '../../../core/random.ts'
import { MATCH_KIND, MODES, shownName, type Match, type Mode, type Participant } from '../match.ts'
import type { ArenaSettings } from '../settings.ts'
import { pairByRating } from './pair-by-rating.ts'

const PLAYERS_PER_PASS_MAX = 2000
/** A node that has not announced itself for this long gets no match. */
const NODE_LOST_SEC = 10

// Any number that nothing else uses.
const LOCK = `select pg_advisory_xact_lock(7305860)`

const COUNT_TWO = `select count(*)::integer as waiting from (select from seats where match_id is null limit 2) as two`

// A row that is locked (a cancel) is left for the next pass.
const SELECT_WAITING = `
  select s.user_id, s.code, a.username, a.is_guest, p.rating, p.rd, p.volatility, p.games,
         (extract(epoch from clock_timestamp() - s.joined_at) * 1000)::float8 as waited_ms,
         array(select w.node from presences w join arena_nodes n on n.node = w.node
                where w.user_id = s.user_id and n.seen_at > statement_timestamp() - ${NODE_LOST_SEC} * interval '1 second'
              ) as nodes
    from seats s
    join players p on p.user_id = s.user_id
    join accounts a on a.account_id = s.user_id
   where s.mode = $1 and s.match_id is null and s.expires_at > statement_timestamp()
   order by s.number limit $2
     for update of s skip locked`

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
  const [row] = await pool.query<{ waiting: number }>(COUNT_TWO)
  return row?.waiting === 2
}

/** One pass. When it resolves, the matches are committed and no node runs them yet. */
export async function pairOnce(deps: PairingDeps): Promise<PairingPass> {
  const pass = await deps.database.hot.transaction(async (tx) => {
    await tx.query(LOCK)
    const passes = []
    for (const mode of MODES) passes.push(await pairMode(tx, deps, mode))
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

async function pairMode(tx: Tx, { settings, node }: PairingDeps, mode: Mode): Promise<PairingPass> {
  const rows = await tx.query<WaitingRow>(SELECT_WAITING, [mode, PLAYERS_PER_PASS_MAX])
  const waiting = rows.map(waitingFrom)
  const pairs = pairsOf(mode, waiting)
  if (pairs.length === 0) return { paired: [], isFull: false }

  const drafts = pairs.map(([a, b]) => ({
    match: {
      matchId: newJobId(),
      mode,
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
  const paired = drafts.map((draft) => ({
    ...draft,
    match: { ...draft.match, createdAt: createdAt.get(draft.match.matchId) ?? '' },
  }))
  return { paired, isFull: rows.length === PLAYERS_PER_PASS_MAX }
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

function pairsOf(mode: Mode, waiting: readonly WaitingPlayer[]): [WaitingPlayer, WaitingPlayer][] {
  switch (mode) {
    case 'normal':
      return pairInOrder(waiting)
    case 'rated':
      return pairByRating(waiting)
    case 'private':
      return [...groupBy(waiting, ({ code }) => code ?? '').values()].flatMap(pairInOrder)
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
  participant: Participant
  rating: number
  code: string | null
  waitedMs: number
  /** To which the player is connected. */
  nodes: readonly string[]
}

/** A node to which both are connected, else one of them, else this node. */
function nodeFor(a: WaitingPlayer, b: WaitingPlayer, here: string): string {
  const shared = a.nodes.filter((node) => b.nodes.includes(node))
  const candidates = shared.length > 0 ? shared : [...a.nodes, ...b.nodes]
  return candidates.includes(here) ? here : (candidates[0] ?? here)
}

interface WaitingRow {
  user_id: string
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
  const { code, rating, rd, volatility, games, waited_ms: waitedMs, nodes } = row
  const userId = Number(row.user_id)
  const username = shownName(userId, row.username)
  return {
    participant: { userId, username, isGuest: row.is_guest, rating, rd, volatility, games },
    rating,
    code,
    waitedMs,
    nodes,
  }
}
