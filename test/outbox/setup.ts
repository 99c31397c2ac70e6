// Rows of the outbox and a delivery that does what the test says.
import type { TestContext } from 'node:test'
import { Registry } from 'prom-client'
import type { Database } from '../../src/core/db/database.ts'
import type { Delivered, Delivery, OutboxRow } from '../../src/core/outbox/delivery.ts'
import { dispatchOnce } from '../../src/core/outbox/dispatcher.ts'
import { openOutboxGauges, openOutboxMetrics } from '../../src/core/outbox/metrics.ts'
import { testDatabase } from '../support/database.ts'

const INSERT = `
  insert into outbox_events (topic, payload) select $1, to_json(n) from generate_series(1, $2::integer) as n`
const ROWS = `
  select outbox_id::integer as id, status, attempts, last_error, stream_entry_id,
         dispatched_at is not null as dispatched,
         (extract(epoch from next_attempt_at - clock_timestamp()) * 1000)::float8 as due_in_ms
    from outbox_events order by outbox_id`

export interface Seen {
  id: number
  status: string
  attempts: number
  last_error: string | null
  stream_entry_id: string | null
  dispatched: boolean
  due_in_ms: number
}

export async function setupOutbox(t: TestContext) {
  const { database, at } = await testDatabase(t)
  const registry = new Registry()
  const metrics = openOutboxMetrics(registry)
  openOutboxGauges(registry, database, ['test'])
  const pending = async () => /^api_outbox_pending (\d+)$/m.exec(await registry.metrics())?.[1]
  const write = (count: number, topic = 'test') => database.query(INSERT, [topic, count])
  const rows = () => database.query<Seen>(ROWS)
  const comeDue = () => database.query('update outbox_events set next_attempt_at = clock_timestamp()')
  const dispatch = (delivery: Delivery, on: Database = database) =>
    dispatchOnce(on, delivery, metrics, new AbortController().signal)
  return { database, at, metrics, pending, write, rows, comeDue, dispatch }
}

export const deliveryOf = (
  deliver: (rows: readonly OutboxRow[]) => Promise<readonly Delivered[]> | readonly Delivered[],
  options: Partial<Delivery> = {},
): Delivery => ({
  topic: 'test',
  keeps: false,
  rowsMax: 100,
  retry: { baseMs: 1000, maxMs: 8000 },
  attemptsMax: null,
  deliver: async (rows) => deliver(rows),
  ...options,
})

export const allOk = (rows: readonly OutboxRow[]): Delivered[] => rows.map(() => ({ ok: true }))
export const allFail = (rows: readonly OutboxRow[]): Delivered[] => rows.map(() => ({ ok: false, error: 'refused' }))
