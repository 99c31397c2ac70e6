// `reeve work` for the judge, with a parent that wants to know how far it is, and may want it to die there.
import { once } from 'node:events'
import { pino } from 'pino'
import { parseConfig } from '../../src/core/config.ts'
import type { Step } from '../../src/core/executor/attempt.ts'
import { doorSettings } from '../../src/doors/outline.ts'
import { start } from '../../src/main.ts'
import { tell } from './wiring.ts'

export interface JudgeProcessOptions {
  settings: Record<string, string>
  dieAt?: Step
}

const { settings, dieAt }: JudgeProcessOptions = JSON.parse(process.argv[2] ?? '')
process.once('disconnect', () => process.exit(1)) // the parent is gone, and nobody else would end this process

const log = pino({ level: 'info', base: null }, { write: (line: string) => void tell({ what: 'log', line }) })
const stopped = once(process, 'SIGTERM')
const running = await start({
  settings: parseConfig(settings, doorSettings()),
  role: 'work',
  log,
  onStep: async (step, { jobId, kind }) => {
    if (kind !== 'judge') return
    await tell({ what: step, jobId })
    if (step === dieAt) process.kill(process.pid, 'SIGKILL')
  },
})
await tell({ what: 'ready' })

await stopped
await running.stop()
process.exit()
