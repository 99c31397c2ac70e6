import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { Bus } from '../../src/core/events/bus.ts'
import { openSearches } from '../../src/core/feed/searches.ts'
import { atEnd } from '../support/cleanup.ts'
import { LEASE_MS, postgresRig, type Rig } from './rig.ts'

const STEP_BACK_US = 25_000
const SEVERAL = 4
const LIMIT = 100
const LATER_MS = 1000 // than any pause between searches
const SOON_MS = 100 // after a message, and before a search from the start

/** A process that searches on the rig's ledger, by a clock that the test moves, and where it searched. Null: from the start. */
function openProcess(t: TestContext, rig: Rig, bus: Bus = rig.bus) {
  const from: (number | null)[] = []
  const clock = { ms: LATER_MS }
  const ledger = {
    ...rig.ledger,
    acquireNextFrom: (...[rank, request]: Parameters<typeof rig.ledger.acquireNextFrom>) => {
      from.push(rank)
      clock.ms += 1
      return rig.ledger.acquireNextFrom(rank, request)
    },
  }
  const searches = openSearches({
    ledger: () => ledger,
    bus,
    owner: `w${Math.random()}`,
    leaseMs: LEASE_MS,
    now: () => clock.ms,
  })
  const leave = searches.listen()
  atEnd(t, async () => leave())
  const next = async (limit = LIMIT) => {
    const { jobs } = await searches.next({ kind: rig.kind, limit, signal: new AbortController().signal })
    return jobs.map(({ jobId }) => jobId)
  }
  return { next, from, clock }
}

const submitSeveral = (rig: Rig): Promise<string[]> => Promise.all(Array.from({ length: SEVERAL }, () => rig.submit()))

function losingTheFirst(bus: Bus): Bus {
  let lost = false
  return {
    ...bus,
    publish(channel, message) {
      if (lost) bus.publish(channel, message)
      lost = true
    },
  }
}

async function rankOf(rig: Rig, jobIds: readonly string[]): Promise<number> {
  const [row] = await rig.database.query<{ rank: string }>(
    'select max(rank) as rank from jobs where job_id = any ($1)',
    [jobIds],
  )
  return Number(row?.rank)
}

describe('processes that search for jobs of a kind', () => {
  test('one of them goes on from where another one has come', async (t) => {
    const rig = await postgresRig(t)
    const [mine, other] = [openProcess(t, rig), openProcess(t, rig)]
    await rig.submit()
    await mine.next()
    const taken = await submitSeveral(rig)
    await other.next()

    const last = await rig.submit()

    assert.deepEqual(await mine.next(), [last])
    assert.equal(mine.from.at(-1), (await rankOf(rig, taken)) - STEP_BACK_US)
  })

  test('a job that came alone is not told', async (t) => {
    const rig = await postgresRig(t)
    const [mine, other] = [openProcess(t, rig), openProcess(t, rig)]
    const first = await rig.submit()
    await mine.next()
    await rig.submit()
    await other.next()

    await mine.next()

    assert.equal(mine.from[1], (await rankOf(rig, [first])) - STEP_BACK_US)
  })

  test('one that has missed messages catches up', async (t) => {
    const rig = await postgresRig(t)
    const [mine, other] = [openProcess(t, rig), openProcess(t, rig, losingTheFirst(rig.bus))]
    await rig.submit({ priority: 9 }) // minutes before the others, in rank
    await mine.next()
    await submitSeveral(rig)
    await other.next()
    other.clock.ms += SOON_MS
    const taken = await submitSeveral(rig)
    await other.next()

    const last = await rig.submit()

    assert.deepEqual(await mine.next(), [last])
    assert.equal(mine.from.at(-1), (await rankOf(rig, taken)) - STEP_BACK_US)
  })

  test('one that has left jobs behind and is not in the range of a message stays where it is', async (t) => {
    const rig = await postgresRig(t)
    const [mine, other] = [openProcess(t, rig), openProcess(t, rig, losingTheFirst(rig.bus))]
    await submitSeveral(rig)
    await other.next()
    other.clock.ms += SOON_MS
    const urgent = await rig.submit({ priority: 9 })
    const left = await rig.submit({ priority: 8 })
    assert.deepEqual(await mine.next(1), [urgent])
    await submitSeveral(rig)
    assert.equal((await other.next()).length, SEVERAL)

    assert.deepEqual(await mine.next(), [left])
    assert.equal(mine.from.at(-1), (await rankOf(rig, [urgent])) - STEP_BACK_US)
  })

  test('one of them goes back to a more urgent job and on from there', async (t) => {
    const rig = await postgresRig(t)
    const mine = openProcess(t, rig)
    await rig.submit({ priority: 1 })
    await mine.next()
    const urgent = await rig.submit({ priority: 9 })
    mine.clock.ms += LATER_MS
    assert.deepEqual(await mine.next(), [urgent])

    const next = await rig.submit({ priority: 9 })

    assert.deepEqual(await mine.next(), [next])
    assert.equal(mine.from.at(-1), (await rankOf(rig, [urgent])) - STEP_BACK_US)
  })

  test('a search from the start by one of them that leaves nothing serves all', async (t) => {
    const rig = await postgresRig(t)
    const [mine, other] = [openProcess(t, rig), openProcess(t, rig)]
    await rig.submit()
    await mine.next()
    mine.clock.ms += LATER_MS
    await submitSeveral(rig)
    await other.next()

    assert.deepEqual(await mine.next(), [])

    assert.deepEqual(
      mine.from.map((rank) => rank === null),
      [true, false],
    )
    assert.equal(other.from.at(-1), null)
  })

  test('one that left jobs behind does not', async (t) => {
    const rig = await postgresRig(t)
    const [mine, other] = [openProcess(t, rig), openProcess(t, rig)]
    await rig.submit()
    await mine.next()
    mine.clock.ms += LATER_MS
    await submitSeveral(rig)
    const left = await rig.submit({ priority: 1 })
    assert.equal((await other.next(SEVERAL)).length, SEVERAL)

    assert.deepEqual(await mine.next(), [left])
    assert.equal(mine.from.at(-1), null)
  })
})
