// A process like `reeve work`, for one kind of job whose end has a visible effect. It can be told to stop at a step of its
// first job: for good, until it is woken, or until it is told to go on.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Step } from '../../src/core/executor/attempt.ts'
import type { Kind } from '../../src/core/executor/kind.ts'
import { openBackground } from '../../src/core/executor/background.ts'
import type { Ledger } from '../../src/core/ledger/ledger.ts'
import { upkeepLoops } from '../../src/core/upkeep.ts'
import { openWiring, tell } from './wiring.ts'

/** `acquiring` is before the ledger is asked, `asked` when it has said yes or no, `working` in the middle of the work. */
export type KillStep = 'acquiring' | 'asked' | 'working' | Step

export interface WorkerOptions {
  settings: Record<string, string>
  /** Kinds whose jobs wait in streams. */
  streamKeys: Record<string, string>
  kind: string
  /** `serve`: only delivers the outbox. */
  role: 'work' | 'serve'
  stop?: { at: KillStep; how: 'die' | 'freeze' | 'hold' }
}

// No key is unique: a job that is finalized twice has two rows.
const INSERT_EFFECT = `
  insert into effects (job_id, attempt_id)
  select job_id, attempt_id from json_to_recordset($1) as r (job_id uuid, attempt_id integer)`

const options: WorkerOptions = JSON.parse(process.argv[2] ?? '')
const told = new Set<KillStep>()
const { config, engine, outbox, log, close } = await openWiring(options.settings, options.streamKeys)

const kind: Kind = {
  name: options.kind,
  async run({ jobId, attemptId, payload }, { signal }) {
    const ms = msOf(payload)
    await sleep(ms / 2, undefined, { signal })
    await reach('working', jobId)
    await sleep(ms / 2, undefined, { signal })
    const row = { job_id: jobId, attempt_id: attemptId }
    return { result: { attempt_id: attemptId }, effects: [{ sql: INSERT_EFFECT, row }] }
  },
}

const works = options.role === 'work'
engine.kinds.add([kind])
const upkeep = upkeepLoops({ ...engine, buryEveryMs: config.JOB_RECLAIM_INTERVAL_SEC * 1000 })
tellOfAcquiring(engine.ledger)
const background = openBackground({
  config,
  engine,
  kinds: works ? [kind] : [],
  loops: [...engine.ledger.loops, ...outbox.loops, ...(works ? upkeep : [])],
  log,
  onStep: (step, job) => reach(step, job.jobId),
})
const stopped = once(process, 'SIGTERM')
background.start()
await tell({ what: 'ready' })

await stopped
await background.stop()
await close()
process.exit()

/** Tells the parent of the first job that comes so far, and stops there if that was asked. */
async function reach(step: KillStep, jobId: string | null): Promise<void> {
  const how = options.stop?.at === step ? options.stop.how : 'never'
  if (told.has(step)) return how === 'die' ? new Promise(() => {}) : undefined // no further than the first
  told.add(step)
  await tell({ what: step, jobId })

  if (how === 'die') process.kill(process.pid, 'SIGKILL')
  if (how === 'freeze') process.kill(process.pid, 'SIGSTOP')
  if (how === 'hold') await once(process, 'message')
}

function tellOfAcquiring(ledger: Ledger): void {
  const { acquire, acquireMany, acquireNextFrom } = ledger
  const telling = async <Answer>(jobId: string | null, ask: () => Promise<Answer>): Promise<Answer> => {
    await reach('acquiring', jobId)
    const answer = await ask()
    await reach('asked', jobId)
    return answer
  }
  ledger.acquire = (request) => telling(request.jobId, () => acquire(request))
  ledger.acquireMany = (requests) => telling(requests[0]?.jobId ?? null, () => acquireMany(requests))
  ledger.acquireNextFrom = (rank, request) => telling(null, () => acquireNextFrom(rank, request))
}

function msOf(payload: unknown): number {
  if (typeof payload !== 'object' || payload === null || !('ms' in payload)) return 0
  return typeof payload.ms === 'number' ? payload.ms : 0
}
