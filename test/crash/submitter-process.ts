// A process like `reeve serve` that submits jobs. `die`: one batch, and it is killed between the commit and the
// announcement. `stream`: one after the other, whatever becomes of the database meanwhile, until SIGTERM.
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { openBackground } from '../../src/core/executor/background.ts'
import { openWiring, tell } from './wiring.ts'

export interface SubmitterOptions {
  settings: Record<string, string>
  /** Kinds whose jobs wait in streams. */
  streamKeys: Record<string, string>
  kind: string
  does: { what: 'die'; jobIds: string[] } | { what: 'stream'; ms: number }
}

const SUBMITTERS = 4
const PAUSE_MS = 5 // a client that thinks a little, or the backlog would outgrow the test
const REFUSED_PAUSE_MS = 50

const options: SubmitterOptions = JSON.parse(process.argv[2] ?? '')
const { kind, does } = options
const { config, engine, outbox, log, close } = await openWiring(options.settings, options.streamKeys)
if (does.what === 'die') await submitAndDie(does.jobIds)
else await submitUntilStopped(does.ms)

/** The dispatcher does not run, so that nothing is announced before the death. */
async function submitAndDie(jobIds: readonly string[]): Promise<void> {
  engine.feed.hint = () => process.kill(process.pid, 'SIGKILL')
  await engine.ledger.submitMany(jobIds.map((jobId) => ({ jobId, kind, payload: { ms: 0 } })))
}

async function submitUntilStopped(ms: number): Promise<void> {
  const stopping = new AbortController()
  const stopped = once(process, 'SIGTERM')
  const loops = [...engine.ledger.loops, ...outbox.loops]
  const background = openBackground({ config, engine, kinds: [], loops, log })
  background.start()
  await tell({ what: 'ready' })
  const submitting = Array.from({ length: SUBMITTERS }, () => submitMore(ms, stopping.signal))

  await stopped
  stopping.abort()
  await Promise.all(submitting)
  await background.stop()
  await close()
  process.exit()
}

/** The parent hears of a job once its submit was answered, as a client does. */
async function submitMore(ms: number, stopped: AbortSignal): Promise<void> {
  while (!stopped.aborted) {
    try {
      const answer = await engine.ledger.submit({ kind, payload: { ms } })
      if (answer.ok) await tell({ what: 'accepted', jobId: answer.jobId })
      await sleep(PAUSE_MS)
    } catch {
      await tell({ what: 'refused' })
      await sleep(REFUSED_PAUSE_MS)
    }
  }
}
