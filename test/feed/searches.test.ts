import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { Bus } from '../../src/core/events/bus.ts'
import { openSearches } from '../../src/core/feed/searches.ts'
import { acquireNextFrom } from '../../src/core/ledger/acquire.ts'
import { atEnd } from '../support/cleanup.ts'
import { until } from '../support/until.ts'
import { LEASE_MS, postgresRig, type Rig } from './rig.ts'

const STEP_BACK_US = 25_000
const SEVERAL = 4
const LIMIT = 100
const LATER_MS = 1000 // than any pause between searches
const SOON_MS = 100 // after a message, and before a search from the start

/** A process that searches on the rig's ledger, by a clock that the test moves, and where it searched. Null: from the start. */
function openProcess(
  t: TestContext,
  rig: Rig,
  { bus = rig.bus, searchMs = 1, owner = `w${Math.random()}` }: { bus?: Bus; searchMs?: number; owner?: string } = {},
) {
  const from: (number | null)[] = []
  const clock = { ms: LATER_MS }
  const ledger = {
    ...rig.ledger,
    acquireNextFrom: (...[rank, request]: Parameters<typeof rig.ledger.acquireNextFrom>) => {
      from.push(rank)
      clock.ms += searchMs
      return rig.ledger.acquireNextFrom(rank, request)
    },
  }
  const searches = openSearches({
    ledger: () => ledger,
    bus,
    owner,
    leaseMs: LEASE_MS,
    now: () => clock.ms,
  })
  const leave = searches.listen()
  atEnd(t, async () => leave())
  const next = async (limit = LIMIT, signal = new AbortController().signal) => {
    const { jobs } = await searches.next({ kind: rig.kind, limit, signal })
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
    const [mine, other] = [openProcess(t, rig), openProcess(t, rig, { bus: losingTheFirst(rig.bus) })]
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
    const [mine, other] = [openProcess(t, rig), openProcess(t, rig, { bus: losingTheFirst(rig.bus) })]
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

  test('one that left more urgent jobs behind serves nobody who is further', async (t) => {
    const rig = await postgresRig(t)
    const [mine, other] = [openProcess(t, rig), openProcess(t, rig)]
    await rig.submit()
    await mine.next()
    await rig.submit()
    await other.next()
    const urgent: string[] = []
    for (let count = 0; count < 3 * SEVERAL; count += 1) urgent.push(await rig.submit({ priority: 9 }))
    for (const _round of [1, 2]) {
      mine.clock.ms += LATER_MS
      other.clock.ms += LATER_MS
      assert.equal((await other.next(SEVERAL)).length, SEVERAL)
    }

    assert.deepEqual(await mine.next(), urgent.slice(2 * SEVERAL))
    assert.equal(mine.from.at(-1), null)
  })

  test('one that comes as far as the others serves all, though it leaves newer jobs', async (t) => {
    const rig = await postgresRig(t)
    const [mine, other] = [openProcess(t, rig), openProcess(t, rig)]
    await rig.submit()
    await mine.next()
    await rig.submit()
    await other.next()
    mine.clock.ms += LATER_MS
    other.clock.ms += LATER_MS
    await submitSeveral(rig)
    const left = await rig.submit()
    assert.equal((await other.next(SEVERAL)).length, SEVERAL)
    assert.equal(other.from.at(-1), null)

    assert.deepEqual(await mine.next(), [left])

    assert.notEqual(mine.from.at(-1), null)
  })

  describe('take turns', () => {
    /** Two jobs, a process that has heard of another one, and the other one in the middle of its turn, with one of the jobs. */
    async function inTheTurnOfAnother(t: TestContext, { searchMs = 1, hears = true } = {}) {
      const rig = await postgresRig(t)
      const mine = openProcess(t, rig, { searchMs })
      await rig.submit()
      await mine.next()
      await submitSeveral(rig)
      const others = openProcess(t, rig, hears ? {} : { bus: { ...rig.bus, publish: () => {} } })
      await others.next()
      mine.from.length = 0
      await rig.submit()
      const second = await rig.submit()

      let end = () => {}
      const ended = new Promise<void>((resolve) => (end = resolve))
      let turn = Promise.resolve()
      await new Promise<void>((begin, fail) => {
        turn = rig.database.transaction(async (tx) => {
          const request = { kind: rig.kind, limit: 1, owner: 'another', leaseMs: LEASE_MS, exclusively: true }
          assert.equal((await acquireNextFrom(tx, null, request)).isOthersTurn, false)
          begin()
          await ended
        })
        turn.catch(fail)
      })
      const endTurn = () => (end(), turn)
      atEnd(t, endTurn)
      return { mine, second, endTurn }
    }

    test('one of several looks at nothing while another one searches, and searches after it', async (t) => {
      const { mine, second, endTurn } = await inTheTurnOfAnother(t)

      const asked = mine.next()
      await until('it has asked again', () => mine.from.length >= 2)
      await endTurn()

      assert.deepEqual(await asked, [second])
    })

    test('one that stands still in its turn does not keep the others from theirs', async (t) => {
      const { mine, second } = await inTheTurnOfAnother(t, { searchMs: 100 })

      assert.deepEqual(await mine.next(), [second])
      assert.equal(mine.from.length, 6) // in the 500 ms for which the other one counts as busy
    })

    test('one whose name has a comma hears of others, too', async (t) => {
      const rig = await postgresRig(t)
      const [mine, other] = [openProcess(t, rig, { owner: 'eu,1' }), openProcess(t, rig, { owner: '1' })]
      await rig.submit()
      await mine.next()
      const taken = await submitSeveral(rig)
      await other.next()

      await rig.submit()
      await mine.next()

      assert.equal(mine.from.at(-1), (await rankOf(rig, taken)) - STEP_BACK_US)
    })

    test('one that hears of no other does not wait', async (t) => {
      const { mine, second } = await inTheTurnOfAnother(t, { hears: false })

      assert.deepEqual(await mine.next(), [second])
      assert.equal(mine.from.length, 1)
    })

    test('one that stops waits no longer', async (t) => {
      const { mine } = await inTheTurnOfAnother(t)
      const stopping = new AbortController()

      const asked = mine.next(LIMIT, stopping.signal)
      await until('it has asked', () => mine.from.length >= 1)
      stopping.abort()

      assert.deepEqual(await asked, [])
    })
  })
})
