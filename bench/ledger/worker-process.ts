// The benchmark's end of the worker process.

import { fork, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { Check } from 'typebox/value'
import { stopChild } from '../servers/stop-child.ts'
import type { Stop, Teardown } from '../teardown.ts'
import type { Contestant, Servers } from './contestant.ts'
import { Report, type Handled, type Order } from './messages.ts'

const CHILD = fileURLToPath(new URL('worker-child.ts', import.meta.url))
const ANSWER_MS_MAX = 180_000
const STOP_MS_MAX = 10_000

export interface WorkerProcess {
  pid: number
  start(): Promise<void>
  /** Resolves when the worker has handled jobs 0 to `count - 1` of the round. */
  handled(round: number, count: number): Promise<Handled>
  stop: Stop
}

/** Resolves when the process has loaded its code and waits for the order to start. */
export async function forkWorker(contestant: Contestant, servers: Servers, teardown: Teardown): Promise<WorkerProcess> {
  const child = fork(CHILD, [contestant.name, JSON.stringify(servers)], {
    execArgv: [...process.execArgv, '--max-semi-space-size=64'],
  })
  const stop = teardown.add(() =>
    stopChild(child, STOP_MS_MAX, () => child.connected && order(child, { type: 'stop' })),
  )
  const reports = listen(child, contestant.name)
  await reports.next((report) => report.type === 'loaded')

  return {
    pid: child.pid ?? 0,
    async start() {
      const started = reports.next((report) => report.type === 'started')
      order(child, { type: 'start' })
      await started
    },
    async handled(round, count) {
      const complete = reports.next((report) => report.type === 'handled' && report.round === round)
      order(child, { type: 'expect', round, count })
      const report = await complete
      if (report.type !== 'handled') throw new Error(`unexpected report: ${report.type}`)
      return report
    },
    stop,
  }
}

interface Waiter {
  wants(report: Report): boolean
  resolve(report: Report): void
  reject(error: Error): void
}

function listen(child: ChildProcess, name: string): { next(wants: Waiter['wants']): Promise<Report> } {
  const waiters = new Set<Waiter>()
  const failAll = (why: string): void => {
    for (const waiter of waiters) waiter.reject(new Error(`the worker of ${name} ${why}`))
  }
  child.on('message', (message: unknown) => {
    if (!Check(Report, message)) return failAll(`said ${JSON.stringify(message)}`)
    for (const waiter of waiters) if (waiter.wants(message)) waiter.resolve(message)
  })
  child.on('exit', (code, signal) => failAll(`ended (${code ?? signal})`))

  return {
    next(wants) {
      return new Promise<Report>((resolve, reject) => {
        const late = setTimeout(() => waiter.reject(new Error(`the worker of ${name} is stuck`)), ANSWER_MS_MAX)
        const leave = (): void => {
          clearTimeout(late)
          waiters.delete(waiter)
        }
        const waiter: Waiter = {
          wants,
          resolve: (report) => (leave(), resolve(report)),
          reject: (error) => (leave(), reject(error)),
        }
        waiters.add(waiter)
      })
    },
  }
}

function order(child: ChildProcess, message: Order): void {
  child.send(message)
}
