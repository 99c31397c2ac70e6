// The benchmark's end of the process that makes the load.

import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Check } from 'typebox/value'
import type { Stop, Teardown } from '../teardown.ts'
import { Report, type LoadOptions, type Measured, type Order } from './messages.ts'

const CHILD = fileURLToPath(new URL('load-child.ts', import.meta.url))
const ANSWER_MS_MAX = 120_000

export interface Load {
  /** So many more sessions; resolves when all of them run. */
  add(sessions: number): Promise<void>
  measure(ms: number): Promise<Measured>
  stop: Stop
}

export function startLoad(options: LoadOptions, teardown: Teardown): Load {
  const child = fork(CHILD, [JSON.stringify(options)], { execArgv: [...process.execArgv, '--max-semi-space-size=64'] })
  const stop = teardown.add(() => stopChild(child))
  return {
    async add(sessions) {
      await ask(child, { type: 'add', sessions })
    },
    async measure(ms) {
      const report = await ask(child, { type: 'measure', ms })
      if (report.type !== 'measured') throw new Error(`unexpected report: ${report.type}`)
      return report
    },
    stop,
  }
}

async function ask(child: ChildProcess, order: Order): Promise<Report> {
  const answer = new Promise<Report>((resolve, reject) => {
    const late = setTimeout(() => reject(new Error('The load is stuck.')), ANSWER_MS_MAX)
    child.once('exit', (code) => reject(new Error(`The load ended (${code}).`)))
    child.once('message', (message: unknown) => {
      clearTimeout(late)
      child.removeAllListeners('exit')
      if (Check(Report, message)) resolve(message)
      else reject(new Error(`The load said ${JSON.stringify(message)}`))
    })
  })
  child.send(order)
  return answer
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}
