// An effect is a change that a door commits together with a transition: a row of its own table, a row of the outbox. It
// consists of a statement over `$1::json`, an array of rows, and the row of this call. Calls in one batch share the statement.
import type { Pool, Queryable, Tx } from '../db/database.ts'
import { groupBy } from '../values/group-by.ts'

export interface Effect {
  /** Constant SQL that reads its rows with `json_to_recordset($1)`. */
  sql: string
  row: object
  /** Where it writes to the outbox: the topic, whose dispatcher is woken after the commit. */
  topic?: string
}

/** The outbox topics that these effects write to. */
export const topicsOf = (effects: readonly Effect[]): string[] => [
  ...new Set(effects.flatMap(({ topic }) => topic ?? [])),
]

export interface WithEffects {
  effects?: readonly Effect[]
}

/** Sends them without waiting: they are pipelined with the commit or the next statement. */
export function sendEffects(tx: Tx, effects: readonly Effect[]): void {
  for (const [sql, same] of groupBy(effects, (effect) => effect.sql)) {
    tx.send(sql, [JSON.stringify(same.map(({ row }) => row))])
  }
}

/**
 * Runs a transition for many calls. Without effects it is one statement that commits by itself. With effects it is a
 * transaction: the statement, then the effects of the calls that were applied.
 */
export async function transit<Request extends WithEffects, Answer>(
  pool: Pool,
  requests: readonly Request[],
  statement: (on: Queryable) => Promise<Answer[]>,
  effectsOf: (request: Request, answer: Answer) => readonly Effect[],
): Promise<Answer[]> {
  if (requests.every((request) => request.effects === undefined || request.effects.length === 0)) return statement(pool)
  return pool.transaction(async (tx) => {
    const answers = await statement(tx)
    sendEffects(
      tx,
      requests.flatMap((request, index) => {
        const answer = answers[index]
        return answer === undefined ? [] : effectsOf(request, answer)
      }),
    )
    return answers
  })
}

/** The usual rule: a call has its effects if it was applied. */
export const effectsIfOk = (request: WithEffects, answer: { ok: boolean }): readonly Effect[] =>
  answer.ok ? (request.effects ?? []) : []

/** Rows come in any order, and only for jobs that exist: explains them in the order of the requests. */
export function inOrder<Request extends { jobId: string }, Seen extends { job_id: string }, Answer>(
  requests: readonly Request[],
  seen: readonly Seen[],
  explain: (request: Request, row: Seen | undefined) => Answer,
): Answer[] {
  const rowOf = new Map(seen.map((row) => [row.job_id, row]))
  return requests.map((request) => explain(request, rowOf.get(request.jobId)))
}
