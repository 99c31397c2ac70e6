// renew, finalize, fail and release refuse alike: one table of situations, in the contract's order of precedence.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Held } from '../../src/core/ledger/job.ts'
import type { Ledger } from '../../src/core/ledger/ledger.ts'
import type { HeldRefusal } from '../../src/core/ledger/refusal.ts'
import { setupLedger } from '../support/ledger.ts'
import { dump, note, UNKNOWN_JOB } from './dump.ts'

type World = Awaited<ReturnType<typeof setupLedger>>

const TRANSITIONS: Record<string, (ledger: Ledger, held: Held) => Promise<unknown>> = {
  renew: (ledger, held) => ledger.renew({ ...held, leaseMs: 60_000 }),
  finalize: (ledger, held) => ledger.finalize({ ...held, result: 'late', effects: [note(held.jobId)] }),
  'finalize without effects': (ledger, held) => ledger.finalize({ ...held, result: 'late' }),
  fail: (ledger, held) => ledger.fail({ ...held, error: 'late', retryMs: null, effects: [note(held.jobId)] }),
  release: (ledger, held) => ledger.release({ ...held, effects: [note(held.jobId)] }),
}

interface Situation {
  name: string
  arrange(world: World): Promise<Held>
  code: HeldRefusal
}

const heldJob = async ({ submit, acquire }: World) => acquire(await submit(), 'w1')

/** The first attempt's holder, after somebody else has taken the job over. */
async function reclaimed(world: World) {
  const first = await heldJob(world)
  await world.expireLease(first.jobId)
  return { first, second: await world.acquire(first.jobId, 'w2') }
}

const SITUATIONS: readonly Situation[] = [
  {
    name: 'no such job',
    arrange: async () => ({ jobId: UNKNOWN_JOB, attemptId: 1, owner: 'w1' }),
    code: 'unknown_job',
  },
  {
    name: 'a newer attempt is running',
    arrange: async (world) => (await reclaimed(world)).first,
    code: 'stale_attempt',
  },
  {
    name: 'a newer attempt has finished the job: stale comes before finished',
    arrange: async (world) => {
      const { first, second } = await reclaimed(world)
      await world.ledger.finalize({ ...second, result: 2 })
      return first
    },
    code: 'stale_attempt',
  },
  {
    name: 'the job died of a newer attempt: stale comes before finished',
    arrange: async (world) => {
      const { first, second } = await reclaimed(world)
      await world.ledger.fail({ ...second, error: 'broken', retryMs: null })
      return first
    },
    code: 'stale_attempt',
  },
  {
    name: 'a newer attempt was released: stale comes before the state',
    arrange: async (world) => {
      const { first, second } = await reclaimed(world)
      await world.ledger.release(second)
      return first
    },
    code: 'stale_attempt',
  },
  {
    name: 'a newer attempt of the same owner is running',
    arrange: async (world) => {
      const first = await heldJob(world)
      await world.expireLease(first.jobId)
      await world.acquire(first.jobId, 'w1')
      return first
    },
    code: 'stale_attempt',
  },
  {
    name: 'the same attempt has finished the job',
    arrange: async (world) => {
      const held = await heldJob(world)
      await world.ledger.finalize({ ...held, result: 1 })
      return held
    },
    code: 'already_finished',
  },
  {
    name: 'the job is finished and the owner is another: finished comes before the owner',
    arrange: async (world) => {
      const held = await heldJob(world)
      await world.ledger.finalize({ ...held, result: 1 })
      return { ...held, owner: 'w2' }
    },
    code: 'already_finished',
  },
  {
    name: 'the job was cancelled under its holder',
    arrange: async (world) => {
      const held = await heldJob(world)
      await world.ledger.cancel({ jobId: held.jobId, reason: 'unwanted' })
      return held
    },
    code: 'already_finished',
  },
  {
    name: 'the attempt was released, and nobody has taken the job since',
    arrange: async (world) => {
      const held = await heldJob(world)
      await world.ledger.release(held)
      return held
    },
    code: 'not_in_expected_state',
  },
  {
    name: 'the attempt has failed, and the next is not due',
    arrange: async (world) => {
      const held = await heldJob(world)
      await world.ledger.fail({ ...held, error: 'broken', retryMs: 60_000 })
      return held
    },
    code: 'not_in_expected_state',
  },
  {
    name: 'the job was never acquired, and the owner is invented: the state comes before the owner',
    arrange: async ({ submit }) => ({ jobId: await submit(), attemptId: 1, owner: 'nobody' }),
    code: 'not_in_expected_state',
  },
  {
    name: 'the lease has expired, and nobody has taken the job over',
    arrange: async (world) => {
      const held = await heldJob(world)
      await world.expireLease(held.jobId)
      return held
    },
    code: 'lease_lost_or_owner_mismatch',
  },
  {
    name: 'the lease is another owner’s',
    arrange: async (world) => ({ ...(await heldJob(world)), owner: 'w2' }),
    code: 'lease_lost_or_owner_mismatch',
  },
  {
    name: 'the attempt named has not happened yet',
    arrange: async (world) => ({ ...(await heldJob(world)), attemptId: 2 }),
    code: 'lease_lost_or_owner_mismatch',
  },
]

describe('renew, finalize, fail and release are refused and change nothing', () => {
  for (const { name, arrange, code } of SITUATIONS) {
    test(`${code} when ${name}`, async (t) => {
      const world = await setupLedger(t)
      const { jobId, attemptId, owner } = await arrange(world)
      const before = await dump(world.database)

      for (const [transition, act] of Object.entries(TRANSITIONS)) {
        const answer = await act(world.ledger, { jobId, attemptId, owner })

        assert.deepEqual(answer, { ok: false, code }, transition)
        assert.deepEqual(await dump(world.database), before, transition)
      }
    })
  }
})
