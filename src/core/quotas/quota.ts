// One quota: how much of something an account may have. Counting for every request would cost a query each time, so a
// process counts once and then counts along: a count is good for a tenth of the quota or a few seconds, whichever ends
// first. An account that is at its quota is counted again at most a few times a second. One process alone therefore never
// exceeds a quota; several exceed it by at most a tenth of it each.
import { batched } from '../db/batch.ts'
import { refused, type Refused } from '../values/outcome.ts'

const COUNT_FRESH_MS = 10_000
const RECOUNT_AFTER_MS = 250
const UNCOUNTED_SHARE = 10 // a tenth
const ACCOUNTS_MAX = 10_000

export type QuotaName = 'jobs_waiting' | 'stored_bytes' | 'workers' | 'sockets' | 'submissions_waiting' | 'open_tasks'

export type QuotaAnswer = { ok: true } | (Refused<'quota_exceeded'> & { name: QuotaName; max: number })

export interface Quota {
  /** Whether the account may have this much more. What was taken counts at once, before the database shows it. */
  take(accountId: number, amount?: number): Promise<QuotaAnswer>
}

export interface QuotaOptions {
  name: QuotaName
  max: number
  /** What these accounts have now. An account that is missing has nothing. */
  count(accountIds: readonly number[]): Promise<ReadonlyMap<number, number>>
}

interface Counted {
  used: number
  /** Since it was counted. */
  taken: number
  at: number
}

export function openQuota({ name, max, count }: QuotaOptions): Quota {
  const known = new Map<number, Counted>()
  const countOne = batched<number, { used: number }>({
    async run(accountIds) {
      const counted = await count(accountIds)
      return accountIds.map((accountId) => ({ used: counted.get(accountId) ?? 0 }))
    },
  })
  const recount = async (accountId: number, before: Counted | undefined): Promise<Counted> => {
    const { used } = await countOne(accountId)
    const newer = known.get(accountId)
    if (newer !== undefined && newer !== before) return newer // another caller of the same batch was first
    const counted = { used, taken: 0, at: performance.now() }
    known.delete(accountId)
    known.set(accountId, counted)
    const [oldest] = known.keys()
    if (known.size > ACCOUNTS_MAX && oldest !== undefined) known.delete(oldest)
    return counted
  }
  const slack = Math.ceil(max / UNCOUNTED_SHARE)

  return {
    async take(accountId, amount = 1) {
      let counted = known.get(accountId)
      const ageMs = counted === undefined ? Infinity : performance.now() - counted.at
      const isFull = counted !== undefined && counted.used + amount > max
      const isStale = counted === undefined || ageMs > COUNT_FRESH_MS || counted.taken + amount > slack
      if (counted === undefined || (isFull ? ageMs > RECOUNT_AFTER_MS : isStale)) {
        counted = await recount(accountId, counted)
      }
      if (counted.used + amount > max) return { ...refused('quota_exceeded'), name, max }
      counted.used += amount
      counted.taken += amount
      return { ok: true }
    },
  }
}
