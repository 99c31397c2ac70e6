// How many bytes are stored for an account: payloads, results, files. Doors add what they store and subtract what they
// delete; the sum is kept in memory and written once a second, so that no request waits for it. A process that is killed
// forgets at most the last second.
import type { Database } from '../db/database.ts'
import type { Loop } from '../loop.ts'

const SELECT = `select account_id, stored_bytes from account_usage where account_id = any($1::bigint[])`

// Sorted, so that two processes that write the same accounts cannot deadlock. An account may be gone by now.
const ADD = `
  insert into account_usage as known (account_id, stored_bytes)
  select account_id, bytes
    from json_to_recordset($1) as r (account_id bigint, bytes bigint) join accounts using (account_id)
   order by account_id
      on conflict (account_id) do update set stored_bytes = known.stored_bytes + excluded.stored_bytes`

const WRITE_EVERY_MS = 1000

export interface StoredBytes {
  /** Negative: deleted. */
  add(accountId: number, bytes: number): void
  count(accountIds: readonly number[]): Promise<ReadonlyMap<number, number>>
  loop: Loop
  /** Writes what is still in memory. */
  flush(): Promise<void>
}

export function openStoredBytes(database: Database): StoredBytes {
  let unwritten = new Map<number, number>()
  const add = (accountId: number, bytes: number) =>
    void unwritten.set(accountId, (unwritten.get(accountId) ?? 0) + bytes)
  const flush = async () => {
    if (unwritten.size === 0) return
    const writing = unwritten
    unwritten = new Map()
    try {
      const rows = [...writing].map(([account_id, bytes]) => ({ account_id, bytes }))
      await database.query(ADD, [JSON.stringify(rows)])
    } catch (error) {
      for (const [accountId, bytes] of writing) add(accountId, bytes)
      throw error
    }
  }
  return {
    add,
    async count(accountIds) {
      await flush()
      type UsageRow = { account_id: string; stored_bytes: string }
      const rows = await database.query<UsageRow>(SELECT, [accountIds])
      return new Map(rows.map((row) => [Number(row.account_id), Math.max(0, Number(row.stored_bytes))]))
    },
    loop: { name: 'write-stored-bytes-per-account', everyMs: WRITE_EVERY_MS, runOnce: () => flush().then(() => false) },
    flush,
  }
}
