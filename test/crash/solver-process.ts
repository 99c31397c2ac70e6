// A server that plays the Solver and dies by SIGKILL the first time it reaches a given step. Where the server has no hook for a
// step, its connections to PostgreSQL and to the Challenger are watched.
import assert from 'node:assert/strict'
import http from 'node:http'
import { Client } from 'pg'
import { parseConfig } from '../../src/core/config.ts'
import { PreparedStatement } from '../../src/core/db/prepared-statement.ts'
import type { Step } from '../../src/core/executor/attempt.ts'
import { openLog } from '../../src/core/log/log.ts'
import { doorSettings } from '../../src/doors/outline.ts'
import { start } from '../../src/main.ts'
import { tell } from './wiring.ts'

export type SolverStep =
  /** The request is committed, the 202 has not left. */
  | 'answering'
  | 'acquiring'
  | Step
  /** The row of the outbox is claimed, nothing is dialled. */
  | 'dialling'
  /** The Challenger's 200 was read, and nothing was stored. */
  | 'answered'
  /** The attempt is in the log, the row is still pending. */
  | 'settling'

export interface SolverOptions {
  settings: Record<string, string>
  role: 'up' | 'serve'
  dieAt: SolverStep | null
}

const options: SolverOptions = JSON.parse(process.argv[2] ?? '')
process.once('disconnect', () => process.exit(1)) // the parent is gone

const reach = (step: SolverStep) => {
  if (step === options.dieAt) process.kill(process.pid, 'SIGKILL')
}

watchDatabase()
watchCallbacks()
const settings = parseConfig(options.settings, doorSettings())
const running = await start({
  settings,
  role: options.role,
  log: openLog(settings.core),
  onStep: async (step, { kind }) => (kind === 'solve' ? reach(step) : undefined),
})
await tell({ what: 'ready', line: running.url ?? '' })

function watchDatabase(): void {
  const { query } = Client.prototype
  let isAccepted = () => {}
  const acceptance = new Promise<void>((resolve) => (isAccepted = resolve))
  const accepted = () => {
    reach('answering')
    isAccepted()
  }
  // Executors look for jobs before there is one, and a slow look finds the job before the answer to its insert is read.
  const holdsAcquires = options.dieAt === 'answering' || options.dieAt === 'acquiring'
  const watched = function (this: Client, ...args: unknown[]) {
    const text = textOf(args[0])
    if (holdsAcquires && text.includes('picked as materialized') && valuesOf(args[0]).includes('solve')) {
      void acceptance.then(() => reach('acquiring'))
      return new Promise(() => {})
    }
    if (text.includes('update outbox_events') && text.includes('r.status')) reach('settling')
    if (text.includes('insert into solve_requests')) beforeAnswerOf(args[0], accepted)
    return Reflect.apply(query, this, args)
  }
  Reflect.set(Client.prototype, 'query', watched)
}

function beforeAnswerOf(statement: unknown, act: () => void): void {
  assert(statement instanceof PreparedStatement)
  const { callback } = statement
  statement.callback = (error, rows) => {
    act()
    callback(error, rows)
  }
}

function watchCallbacks(): void {
  const { request } = http
  const watched = (...args: unknown[]) => {
    reach('dialling')
    const made: unknown = Reflect.apply(request, http, args)
    if (made instanceof http.ClientRequest) {
      made.prependListener('response', (answer) => answer.once('end', () => reach('answered')))
    }
    return made
  }
  Reflect.set(http, 'request', watched)
}

function textOf(query: unknown): string {
  return typeof query === 'object' && query !== null && 'text' in query ? String(query.text) : ''
}

function valuesOf(query: unknown): readonly unknown[] {
  const isPlain = typeof query === 'object' && query !== null && 'values' in query
  return isPlain && Array.isArray(query.values) ? query.values : []
}
