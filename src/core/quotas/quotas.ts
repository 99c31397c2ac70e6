// Quotas per account: settings say how much, doors say how it is counted and ask before they accept more.
//
//   const waiting = quotas.open('jobs_waiting', countWaiting)      when the door opens
//   assertQuota(await waiting.take(accountId))                     in the request: 429 or 413
//
// An account sees its own at GET /auth/quotas.
import type { Config } from '../config.ts'
import type { Database } from '../db/database.ts'
import { HttpError, retryAfter } from '../http/errors/http-error.ts'
import type { Loop } from '../loop.ts'
import { openQuota, type Quota, type QuotaAnswer, type QuotaName, type QuotaOptions } from './quota.ts'
import { openStoredBytes } from './stored-bytes.ts'

const SETTING = {
  jobs_waiting: 'QUOTA_JOBS_WAITING',
  stored_bytes: 'QUOTA_STORED_BYTES',
  workers: 'QUOTA_WORKERS',
  sockets: 'QUOTA_SOCKETS',
  submissions_waiting: 'QUOTA_SUBMISSIONS_WAITING',
  open_tasks: 'QUOTA_OPEN_TASKS',
} as const satisfies Record<QuotaName, keyof Config>

const MESSAGE = {
  jobs_waiting: (max) => `At most ${max} jobs of an account wait at a time. Try again when some have ended.`,
  stored_bytes: (max) => `At most ${max} bytes are stored for an account.`,
  workers: (max) => `An account has at most ${max} workers. Remove one first.`,
  sockets: (max) => `An account has at most ${max} open WebSockets. Close one first.`,
  submissions_waiting: (max) =>
    `At most ${max} submissions of an account wait at a time. Try again when some are judged.`,
  open_tasks: (max) => `An account has at most ${max} open tasks. Try again when some have ended.`,
} as const satisfies Record<QuotaName, (max: number) => string>

const RETRY_AFTER_SEC = 1

export interface QuotaUse {
  name: QuotaName
  used: number
  max: number
}

export interface Quotas {
  /** For what the door's own tables count. A name that several open is one quota, on the sum of their counts. */
  open(name: QuotaName, count: QuotaOptions['count']): Quota
  /** For what lasts as long as a connection: a release, or null at the quota. Counted in this process. */
  hold(name: 'sockets', accountId: number): (() => void) | null
  /** Bytes stored for accounts, by all doors. `add` also what was stored without asking: a result. */
  stored: Quota & { add(accountId: number, bytes: number): void }
  /** All that this process knows how to count. */
  usedBy(accountId: number): Promise<QuotaUse[]>
  loops: readonly Loop[]
  close(): Promise<void>
}

export function openQuotas({ database, config }: { database: Database; config: Config }): Quotas {
  const counts = new Map<QuotaName, QuotaOptions['count'][]>()
  const held = new Map<number, number>()
  const bytes = openStoredBytes(database)
  const maxOf = (name: QuotaName): number => config[SETTING[name]]
  const addCount = (name: QuotaName, count: QuotaOptions['count']) =>
    void counts.set(name, [...(counts.get(name) ?? []), count])
  const countAll =
    (name: QuotaName): QuotaOptions['count'] =>
    async (accountIds) => {
      const parts = await Promise.all((counts.get(name) ?? []).map((count) => count(accountIds)))
      return new Map(accountIds.map((id) => [id, parts.reduce((sum, part) => sum + (part.get(id) ?? 0), 0)]))
    }
  const open = (name: QuotaName, count: QuotaOptions['count']): Quota => {
    addCount(name, count)
    return openQuota({ name, max: maxOf(name), count: countAll(name) })
  }
  const stored = open('stored_bytes', bytes.count)
  addCount('sockets', async (accountIds) => new Map(accountIds.map((id) => [id, held.get(id) ?? 0])))

  return {
    open,
    hold(name, accountId) {
      const count = held.get(accountId) ?? 0
      if (count >= maxOf(name)) return null
      held.set(accountId, count + 1)
      let isHeld = true
      return () => {
        if (!isHeld) return
        isHeld = false
        const left = (held.get(accountId) ?? 1) - 1
        if (left === 0) held.delete(accountId)
        else held.set(accountId, left)
      }
    },
    stored: {
      add: bytes.add,
      async take(accountId, amount = 1) {
        const answer = await stored.take(accountId, amount)
        if (answer.ok) bytes.add(accountId, amount)
        return answer
      },
    },
    usedBy: (accountId) =>
      Promise.all(
        [...counts.keys()].map(async (name) => {
          return { name, used: (await countAll(name)([accountId])).get(accountId) ?? 0, max: maxOf(name) }
        }),
      ),
    loops: [bytes.loop],
    close: bytes.flush,
  }
}

/** Throws 429, or 413 for what is too much to store. */
export function assertQuota(answer: QuotaAnswer): void {
  if (answer.ok) return
  const { name, max } = answer
  const options = name === 'stored_bytes' ? {} : { headers: retryAfter(RETRY_AFTER_SEC) }
  throw new HttpError(name === 'stored_bytes' ? 413 : 429, 'quota_exceeded', MESSAGE[name](max), options)
}
