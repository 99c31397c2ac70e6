// A fifth of the workers collude: they submit the same wrong answers, and each hides in its own way. The pool is the real one,
// on a real database; only the workers are simulated.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { sha256 } from '../contract/pool/setup.ts'
import { seeded } from '../support/seeded.ts'
import { setupPool, type SimulatedWorker } from './pool-parts.ts'

const SEED = Number(process.env['REEVE_TEST_SEED'] ?? 5)
const WORKERS = 60
const LIARS = WORKERS / 5
// So many that a rate of one in a thousand can be told: two lies that meet in one job before either is known are chance.
const JOBS = 2500
const CANARIES = 100
const OPEN_JOBS = 200
const ROUNDS_MAX = 2000

/** When a liar lies: always; about every other job, all of them about the same; or only once it is known as honest. */
type Way = 'honest' | 'always' | 'half' | 'sleeper'

const truth = (n: number) => `{"answer":${(n * 7919) % 1_000_003}}`
const lie = (n: number) => `{"answer":${(n * 104_729) % 999_983},"sure":true}`

interface Actor extends SimulatedWorker {
  way: Way
  done: number
}

const says = ({ way, done }: Actor, n: number): string => {
  const lies = way === 'always' || (way === 'half' && n % 2 === 0) || (way === 'sleeper' && done > 25)
  return lies ? lie(n) : truth(n)
}

async function simulate(t: TestContext, random: () => number) {
  const world = await setupPool(t, { random })
  const { pool, database } = world
  const ways: Way[] = ['always', 'half', 'sleeper']
  const actors: Actor[] = []
  for (let n = 1; n <= WORKERS; n += 1) {
    const isLiar = n <= LIARS
    actors.push({ ...(await world.worker(n)), way: isLiar ? (ways[n % ways.length] ?? 'always') : 'honest', done: 0 })
  }
  const admin = { requirements: { region: null, specs: null }, createdBy: 1 }
  const secrets = Array.from({ length: CANARIES }, () => 1_000_000 + Math.floor(random() * 1_000_000))
  await Promise.all(
    secrets.map((secret) =>
      world.canaries.add({ payload: `{"n":${secret}}`, expectedHash: sha256(truth(secret)), ...admin }),
    ),
  )
  const asked = new Map<string, number>()
  const submitJob = async () => {
    const n = asked.size
    const answer = await pool.submitJobs([
      {
        clientId: 1 + (n % 3),
        job: `{"n":${n}}`,
        priority: 5,
        requirements: { region: null, specs: null },
        replicas: 3,
        quorum: 2,
        callbackUrl: null,
        requiresHash: true,
        timeoutSec: null,
        maxAttempts: 1,
        agree: null,
        idempotency: null,
        trace: null,
      },
    ])
    assert(answer.ok)
    asked.set(answer.jobIds[0] ?? '', n)
  }
  const turn = async (actor: Actor) => {
    const assignment = await world.poll(actor)
    if (assignment === null) return
    const { n }: { n: number } = JSON.parse(assignment.job)
    await world.submit(actor, assignment, says(actor, n))
    actor.done += 1
  }
  const countDone = async () => {
    const [row] = await database.query<{ n: number }>(
      `select count(*)::integer as n from jobs where kind = 'pool_quorum' and finished_at is not null`,
    )
    return row?.n ?? 0
  }
  let rounds = 0
  for (let done = 0; done < JOBS && rounds < ROUNDS_MAX; done = await countDone()) {
    rounds += 1
    for (; asked.size < Math.min(JOBS, done + OPEN_JOBS);) {
      await Promise.all(Array.from({ length: Math.min(100, JOBS - asked.size) }, submitJob))
    }
    await pool.canaries.loop.runOnce(new AbortController().signal)
    await Promise.all(shuffled(actors, random).map(turn))
    await pool.quorums.loop.runOnce(new AbortController().signal)
  }
  return { world, actors, asked, rounds }
}

function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  return items
    .map((item) => ({ item, at: random() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ item }) => item)
}

describe('a fifth of the workers lie in concert', () => {
  test(`fewer than one in a thousand wrong results is accepted, and the honest keep working (seed ${SEED})`, async (t) => {
    const { world, actors, asked, rounds } = await simulate(t, seeded(SEED))
    const { database } = world
    const results = await database.query<{ quorum_id: string; output: string; status: string }>(
      `select q.job_id as quorum_id, r.output::text as output, j.state as status from pool_quorums q
         join jobs j on j.job_id = q.job_id
         left join pool_results r on r.assignment_id = (j.result ->> 'assignment_id')::bigint`,
    )

    const wrong = results.filter(({ quorum_id: id, output }) => output !== truth(asked.get(id) ?? -1))
    const banned = await database.query<{ owner_id: string }>(
      'select owner_id from pool_workers where banned_at is not null',
    )
    const honest = actors.filter(({ way }) => way === 'honest')
    t.diagnostic(
      `${results.length} jobs in ${rounds} rounds, ${wrong.length} wrong, ${banned.length} of ${LIARS} liars banned`,
    )
    assert.equal(results.length, JOBS)
    assert(results.every(({ status }) => status === 'done'))
    assert(wrong.length / JOBS < 0.001, `${wrong.length} wrong results were accepted`)
    assert.deepEqual(
      banned.filter(({ owner_id: id }) => Number(id) > LIARS),
      [],
      'no honest worker was banned',
    )
    assert(
      honest.every(({ done }) => done > JOBS / WORKERS / 2),
      'every honest worker had work',
    )
    assert(banned.length >= LIARS * 0.75, `only ${banned.length} liars were found`)
  })
})
