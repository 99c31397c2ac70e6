// The thread of the plug-ins: loads the modules, then runs their functions concurrently and answers each request.
import { isObject } from '../../../core/values/is-object.ts'
import { parentPort, workerData } from 'node:worker_threads'
import type { SolverProblem, SolverContext } from '@reeve/sdk/solvers'

export interface PluginRequest {
  id: number
  type: string
  problem: SolverProblem
  challengeId: string
  outputSpec: unknown
}

/** A number cancels the request with this id. */
export type ToThread = PluginRequest | number

export type FromThread =
  | { id: number; ok: true; answer: unknown }
  /** A null code: the problem may be retried. */
  | { id: number; ok: false; code: string | null; message: string }
  | { loaded: string[] }
  | { broken: string }

type PluginFunction = (problem: SolverProblem, context: SolverContext) => unknown

const solvers = new Map<string, PluginFunction>()
const running = new Map<number, AbortController>()
const say = (message: FromThread) => parentPort?.postMessage(message, [])

parentPort?.on('message', (message: ToThread) => {
  if (typeof message === 'number') running.get(message)?.abort()
  else void solve(message)
})
void load(workerData)

async function load(modules: unknown): Promise<void> {
  try {
    for (const url of Array.isArray(modules) ? modules : []) await add(String(url))
    say({ loaded: [...solvers.keys()] })
  } catch (error) {
    say({ broken: messageOf(error) })
  }
}

async function add(url: string): Promise<void> {
  const module: unknown = await import(url)
  const given = isObject(module) ? module['solvers'] : undefined
  if (!isObject(given)) throw new Error(`${url} does not export solvers`)
  for (const [type, run] of Object.entries(given)) {
    if (!isFunction(run)) throw new Error(`${url}: ${type} is not a function`)
    if (solvers.has(type)) throw new Error(`${url}: there is another solver for ${type}`)
    solvers.set(type, run)
  }
}

const isFunction = (value: unknown): value is PluginFunction => typeof value === 'function'

async function solve({ id, type, problem, challengeId, outputSpec }: PluginRequest): Promise<void> {
  const interruption = new AbortController()
  running.set(id, interruption)
  try {
    const answer = await solvers.get(type)?.(problem, { challengeId, outputSpec, signal: interruption.signal })
    say({ id, ok: true, answer: typeof answer === 'string' ? answer : null })
  } catch (error) {
    say({ id, ok: false, code: codeOf(error), message: messageOf(error) })
  } finally {
    running.delete(id)
  }
}

/** Recognised by shape: the plug-in may load another copy of the SDK. */
const codeOf = (error: unknown): string | null =>
  error instanceof Error && error.name === 'Unsolvable' && 'code' in error ? String(error.code) : null

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))
