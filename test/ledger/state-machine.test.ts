// docs/state-machine.md is what people read; this is what the database does. They must be the same arrows.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test, type TestContext } from 'node:test'
import { setupLedger } from '../support/ledger.ts'

const RECORD_MOVES = `
  create table moves (move text);
  create function record_move() returns trigger language plpgsql as $$
    begin
      insert into moves values (case when tg_op = 'UPDATE' then old.state::text else '[*]' end || ' --> ' || new.state);
      return new;
    end $$;
  create trigger record_move after insert or update on jobs for each row execute function record_move()`

test('every transition moves jobs along the arrows of the diagram, and along no other', async (t) => {
  const drawn = await arrowsOfTheDiagram()

  const made = await arrowsOfTheDatabase(t)

  assert.deepEqual(made, drawn)
})

async function arrowsOfTheDiagram(): Promise<string[]> {
  const text = await readFile(new URL('../../docs/state-machine.md', import.meta.url), 'utf8')
  const diagram = text.match(/stateDiagram-v2\n([\s\S]*?)```/)?.[1] ?? ''
  return diagram
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .sort()
}

/** Every transition, tried on a job in every state; what is refused leaves no arrow. */
async function arrowsOfTheDatabase(t: TestContext): Promise<string[]> {
  const { ledger, database, submit, acquire, expireLease } = await setupLedger(t)
  const arrows = new Set<string>()
  await database.transaction((tx) => tx.script(RECORD_MOVES))
  const during = async (transition: string, work: () => Promise<unknown>) => {
    await database.query('delete from moves')
    await work()
    for (const { move } of await database.query<{ move: string }>('select move from moves'))
      arrows.add(`${move}: ${transition}`)
  }
  const held = { attemptId: 1, owner: 'w1' }
  const leaseMs = 60_000
  const inState = {
    pending: () => submit(),
    processing: async () => (await acquire(await submit())).jobId,
    abandoned: async () => {
      const { jobId } = await acquire(await submit())
      await expireLease(jobId)
      return jobId
    },
    done: async () => {
      const { jobId } = await acquire(await submit())
      await ledger.finalize({ jobId, ...held, result: null })
      return jobId
    },
    dead: async () => {
      const jobId = await submit()
      await ledger.cancel({ jobId, reason: 'test' })
      return jobId
    },
  }

  for (const jobIn of Object.values(inState)) {
    const on = async (transition: string, work: (jobId: string) => Promise<unknown>) => {
      const jobId = await jobIn()
      await during(transition, () => work(jobId))
    }
    await on('acquire', (jobId) => ledger.acquire({ jobId, owner: 'w2', leaseMs }))
    await on('acquire', () => ledger.acquireNextFrom(null, { kind: 'echo', limit: 1, owner: 'w2', leaseMs }))
    await on('renew', (jobId) => ledger.renew({ jobId, ...held, leaseMs }))
    await on('finalize', (jobId) => ledger.finalize({ jobId, ...held, result: null }))
    await on('fail', (jobId) => ledger.fail({ jobId, ...held, error: 'test', retryMs: 0 }))
    await on('fail', (jobId) => ledger.fail({ jobId, ...held, error: 'test', retryMs: null }))
    await on('release', (jobId) => ledger.release({ jobId, ...held }))
    await on('cancel', (jobId) => ledger.cancel({ jobId, reason: 'test' }))
    await on('bury', (jobId) => ledger.bury({ jobId, reason: 'test' }))
    await on('replay', (jobId) => ledger.replay(jobId))
  }
  await during('submit', () => submit())
  return [...arrows].sort()
}
