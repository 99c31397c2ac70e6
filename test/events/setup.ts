// Events on either kind of bus. A second peer shares nothing with the first but the servers.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { Registry } from 'prom-client'
import { openDatabase } from '../../src/core/db/database.ts'
import type { Bus } from '../../src/core/events/bus.ts'
import { openEvents, type Event, type Events, type NewEvent } from '../../src/core/events/events.ts'
import { openPostgresBus } from '../../src/core/events/postgres-bus.ts'
import { openRedisBus } from '../../src/core/events/redis-bus.ts'
import { sendEffects } from '../../src/core/ledger/effects.ts'
import { transferOnce } from '../../src/core/outbox/dispatcher.ts'
import { openOutboxMetrics } from '../../src/core/outbox/metrics.ts'
import { atEnd } from '../support/cleanup.ts'
import { testDatabase } from '../support/database.ts'
import { sharedRedis, type PgConnection } from '../support/servers.ts'

export const BUSES = ['PostgreSQL', 'Redis'] as const
export type BusKind = (typeof BUSES)[number]

const failTest = (error: unknown) => assert.fail(String(error))

export async function setupEvents(t: TestContext, kind: BusKind) {
  const { at } = await testDatabase(t)
  const peer = () => openPeer(t, at, kind)
  return { at, peer, ...(await peer()) }
}

export async function openPeer(t: TestContext, at: PgConnection, kind: BusKind) {
  const database = openDatabase(at, () => {})
  atEnd(t, () => database.close())
  const bus: Bus =
    kind === 'Redis' ? await openRedisBus(await sharedRedis(), failTest) : await openPostgresBus(database, failTest)
  atEnd(t, () => bus.close())
  const opened = openEvents(database, bus, failTest)
  const events: Events = {
    ...opened,
    async subscribe(...args) {
      const subscription = await opened.subscribe(...args)
      atEnd(t, () => subscription.close())
      return subscription
    },
  }
  const metrics = openOutboxMetrics(new Registry())

  /** Writes them as a transition would: in one transaction. */
  const write = (...news: NewEvent[]) =>
    database.transaction(async (tx) =>
      sendEffects(
        tx,
        news.map((event) => events.effect(event)),
      ),
    )
  const dispatch = async () => {
    while (await transferOnce(events.transfer, metrics));
  }
  return { database, bus, events, write, dispatch }
}

export const event = (n: number, channel = 'c'): NewEvent => ({ channel, type: 'counted', payload: n })

/** A listener that can be waited for. */
export function collector() {
  const seen: Event[] = []
  const waiting: { count: number; resolve: () => void }[] = []
  const listener = (event: Event) => {
    seen.push(event)
    for (const { count, resolve } of waiting) if (seen.length >= count) resolve()
  }
  const until = (count: number) =>
    new Promise<void>((resolve) => {
      if (seen.length >= count) resolve()
      else waiting.push({ count, resolve })
    })
  const payloads = () => seen.map((event) => event.payload)
  return { listener, seen, until, payloads }
}

export const upTo = (count: number): number[] => Array.from({ length: count }, (_, n) => n + 1)
