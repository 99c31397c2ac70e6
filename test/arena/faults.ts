// A database that fails as databases do: each transaction meets the next fault of a plan, if there is one left.
import { DatabaseError } from 'pg'
import type { Database, Pool, Tx } from '../../src/core/db/database.ts'

export type Fault =
  /** The transaction is rolled back by the server: somebody else was in the way. */
  | 'deadlock'
  | 'serialization_failure'
  /** The connection breaks, for real, before the commit. */
  | 'lost_before_commit'
  /** It breaks after the commit, before the answer: nobody knows. */
  | 'lost_after_commit'

const CODES = { deadlock: '40P01', serialization_failure: '40001' } as const

/** `next` says what happens to the next transaction. */
export function faulty(database: Database, next: () => Fault | null): Database {
  const hot: Pool = {
    query: (sql, params) => database.hot.query(sql, params),
    inTurn: (work) => database.hot.inTurn(work),
    async transaction(work) {
      const fault = next()
      const result = await database.hot.transaction(async (tx) => {
        const done = await work(tx)
        await failBeforeCommit(tx, fault)
        return done
      })
      if (fault === 'lost_after_commit') throw new Error('Connection terminated unexpectedly')
      return result
    },
  }
  return { ...database, hot }
}

async function failBeforeCommit(tx: Tx, fault: Fault | null): Promise<void> {
  if (fault === 'deadlock' || fault === 'serialization_failure') {
    const error = new DatabaseError(fault, 0, 'error')
    error.code = CODES[fault]
    throw error
  }
  if (fault === 'lost_before_commit') await tx.query('select pg_terminate_backend(pg_backend_pid())')
}
