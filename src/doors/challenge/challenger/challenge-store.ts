// The Challenger's tables: challenges with their answers, their results, deliveries and callbacks.
import { batched } from '../../../core/db/batch.ts'
import type { Database, Queryable } from '../../../core/db/database.ts'
import { jsonInTurns } from '../../../core/values/json-pieces.ts'
import type { Deliveries } from '../../../core/deliveries/deliveries.ts'
import { SEND_TOPIC } from '../deliveries/topics.ts'
import type { CallbackRow, ResultRow } from './challenge-schema.ts'

const INSERT = `
  insert into challenges (challenge_id, account_id, problem, output_spec, constraints, validation_rule, answer,
                          idempotency_key, body_hash, bytes)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
      on conflict do nothing
  returning challenge_id`

// A deadline that passed without a result is derived when a challenge is read: no state has to change at that moment.
export const STATE = `
  case when state in ('sending', 'accepted') and (constraints ->> 'deadline_ts')::float8 > 0
        and (constraints ->> 'deadline_ts')::float8 < date_part('epoch', clock_timestamp())
       then 'deadline_passed' else state end`

const COLUMNS = `
  challenge_id, seq, account_id, problem, output_spec, constraints, validation_rule, answer, solver_job_id,
  idempotency_key, body_hash, bytes, created_at, sent_at, completed_at, ${STATE} as state`

const FIND_SAME = `
  select ${COLUMNS} from challenges where challenge_id = $1 or (account_id = $2 and idempotency_key = $3)`

const SELECT_ONE = `select ${COLUMNS} from challenges where challenge_id = $1`

const SELECT_RULES = `select challenge_id, validation_rule, answer from challenges where challenge_id = any($1)`

// A page ends where it would become larger than $4 bytes, after its first row at the earliest.
const SELECT_PAGE = `
  select ${COLUMNS}, found
    from (select *, count(*) over () as found, sum(bytes) over (order by seq desc) - bytes as bytes_before
            from (select * from challenges
                   where account_id = $1 and ($2::bigint is null or seq < $2) order by seq desc limit $3) as newest
         ) as page
   where bytes_before < $4 order by seq desc`

const SELECT_RESULTS = `
  select request_id, status, answer, error_code, error_message, is_correct, rule, is_final, solver_job_id,
         metadata, created_at
    from (select *, sum(bytes) over (order by result_id) - bytes as bytes_before
            from (select * from challenge_results where challenge_id = $1 order by result_id limit 100) as oldest
         ) as page
   where bytes_before < $2 order by result_id`

const SELECT_CALLBACKS = `
  select request_id, headers, body_hash, status_code, outcome, created_at
    from challenge_webhooks where challenge_id = $1 order by webhook_id desc limit 100`

const ATTEMPTS_SHOWN_MAX = 100
const PAGE_BYTES_MAX = 8 * 1024 * 1024

export interface ChallengeRow {
  challenge_id: string
  seq: string
  account_id: string
  problem: unknown
  output_spec: unknown
  constraints: unknown
  validation_rule: unknown
  answer: string
  state: string
  solver_job_id: string | null
  idempotency_key: string | null
  body_hash: string
  bytes: number
  created_at: Date
  sent_at: Date | null
  completed_at: Date | null
}

export interface ChallengeToStore {
  challengeId: string
  accountId: number
  problem: unknown
  outputSpec: unknown
  constraints: unknown
  validationRule: unknown
  answer: string
  idempotencyKey: string | null
  bodyHash: string
  /** Size of its JSON. */
  bytes: number
}

/** False: the id or the key is taken. */
export async function insertChallenge(on: Queryable, challenge: ChallengeToStore): Promise<boolean> {
  const json = (value: unknown) => (value === undefined || value === null ? null : jsonInTurns(value, challenge.bytes))
  const rows = await on.query(INSERT, [
    challenge.challengeId,
    challenge.accountId,
    await jsonInTurns(challenge.problem, challenge.bytes),
    await json(challenge.outputSpec),
    await json(challenge.constraints),
    await jsonInTurns(challenge.validationRule, challenge.bytes),
    challenge.answer,
    challenge.idempotencyKey,
    challenge.bodyHash,
    challenge.bytes,
  ])
  return rows.length > 0
}

export const findSame = (on: Queryable, challenge: ChallengeToStore): Promise<ChallengeRow[]> =>
  on.query<ChallengeRow>(FIND_SAME, [challenge.challengeId, challenge.accountId, challenge.idempotencyKey])

export async function findChallenge(on: Queryable, challengeId: string): Promise<ChallengeRow | null> {
  const [row] = await on.query<ChallengeRow>(SELECT_ONE, [challengeId])
  return row ?? null
}

/** What checking an answer needs. */
export type AnswerKey = Pick<ChallengeRow, 'challenge_id' | 'validation_rule' | 'answer'>

/** Lookups that arrive together share one statement. */
export const openFinding = (database: Database): ((challengeId: string) => Promise<{ challenge: AnswerKey | null }>) =>
  batched({
    async run(challengeIds) {
      const rows = await database.hot.query<AnswerKey>(SELECT_RULES, [challengeIds])
      const rowOf = new Map(rows.map((row) => [row.challenge_id, row]))
      return challengeIds.map((id) => ({ challenge: rowOf.get(id) ?? null }))
    },
  })

export interface ChallengeRowPage {
  rows: ChallengeRow[]
  hasMore: boolean
}

export async function listChallenges(
  on: Queryable,
  { accountId, before, limit }: { accountId: number; before: number | null; limit: number },
): Promise<ChallengeRowPage> {
  const params = [accountId, before, limit + 1, PAGE_BYTES_MAX]
  const found = await on.query<ChallengeRow & { found: string }>(SELECT_PAGE, params)
  const rows = found.slice(0, limit)
  return { rows, hasMore: Number(found[0]?.found ?? 0) > rows.length }
}

export async function storyOf(database: Database, deliveries: Pick<Deliveries, 'attempts'>, challengeId: string) {
  const [results, attempts, callbacks] = await Promise.all([
    database.query<ResultRow>(SELECT_RESULTS, [challengeId, PAGE_BYTES_MAX]),
    deliveries.attempts(SEND_TOPIC, challengeId, ATTEMPTS_SHOWN_MAX),
    database.query<CallbackRow>(SELECT_CALLBACKS, [challengeId]),
  ])
  return {
    results,
    deliveries: attempts.map((attempt) => ({ direction: 'send' as const, ...attempt })),
    callbacks,
  }
}
