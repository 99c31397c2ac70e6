// Plug-ins: problem types that the deployment's own functions solve (SOLVER_PLUGINS). They run in one thread, so that none
// can block the server. A function that does not stop at its time limit is terminated together with the thread; the other
// problems that ran there are retried in a new one.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Worker } from 'node:worker_threads'
import type { SolverProblem } from '@reeve/sdk/solvers'
import { storableText } from '../../../core/db/database.ts'
import { StartError } from '../../../core/start-error.ts'
import { besideAs, startThread } from '../../../core/concurrency/start-thread.ts'
import { ANSWER_CHARS_MAX, solved, type CallbackOutcome } from './solution.ts'
import type { PluginRequest, FromThread, ToThread } from './plugin-thread.ts'

const GRACE_MS = 1000
const MESSAGE_CHARS_MAX = 500
const CODE = /^[A-Z][A-Z0-9_]{0,63}$/

export interface PluginProblem {
  type: string
  problem: SolverProblem
  challengeId: string
  outputSpec: unknown
}

export interface PluginLimits {
  timeoutMs: number
  signal: AbortSignal
}

export interface Plugins {
  types: readonly string[]
  /** Throws errors after which a retry may help. */
  solve(asked: PluginProblem, limits: PluginLimits): Promise<CallbackOutcome>
  close(): Promise<void>
}

export const noPlugins: Plugins = {
  types: [],
  solve: () => Promise.reject(new Error('There are no plug-ins.')),
  close: async () => {},
}

/** Throws StartError when a module cannot be loaded. */
export async function openPlugins(paths: readonly string[]): Promise<Plugins> {
  if (paths.length === 0) return noPlugins
  const modules = paths.map((path) => pathToFileURL(resolve(path)).href)
  let running = await startPluginThread(modules)
  return {
    types: running.types,
    async solve(asked, limits) {
      if (running.isGone()) running = await startPluginThread(modules)
      return running.solve(asked, limits)
    },
    close: () => running.end(),
  }
}

/** `late`: it did not stop when its time was over. */
type PluginAnswer = Extract<FromThread, { id: number }> | 'gone' | 'late'

/** One thread, from its start to its end. */
async function startPluginThread(modules: readonly string[]) {
  const thread = startThread(besideAs('plugin-thread', import.meta.url), { workerData: modules })
  const waiting = new Map<number, (answer: PluginAnswer) => void>()
  const post = (message: ToThread) => thread.postMessage(message, [])
  let isGone = false
  let lastId = 0
  thread.once('exit', () => {
    isGone = true
    for (const settle of waiting.values()) settle('gone')
  })
  const types = await loaded(thread).catch(async (error: unknown) => {
    await thread.terminate()
    throw error
  })
  thread.on('message', (message: FromThread) => {
    if ('id' in message) waiting.get(message.id)?.(message)
  })

  const ask = (asked: PluginProblem, { timeoutMs, signal }: PluginLimits) =>
    new Promise<{ answer: PluginAnswer; isTimeOver: boolean }>((resolve) => {
      const id = (lastId += 1)
      let isTimeOver = false
      const stop = () => post(id)
      const settle = (answer: PluginAnswer) => {
        clearTimeout(timer)
        clearTimeout(lastTimer)
        signal.removeEventListener('abort', stop)
        waiting.delete(id)
        resolve({ answer, isTimeOver })
      }
      const timer = setTimeout(() => {
        isTimeOver = true
        stop()
      }, timeoutMs)
      const lastTimer = setTimeout(() => settle('late'), timeoutMs + GRACE_MS)
      signal.addEventListener('abort', stop)
      waiting.set(id, settle)
      if (isGone) settle('gone')
      else post({ id, ...asked } satisfies PluginRequest)
    })

  return {
    types,
    isGone: () => isGone,
    end: async () => void (await thread.terminate()),
    async solve(asked: PluginProblem, limits: PluginLimits): Promise<CallbackOutcome> {
      const started = performance.now()
      const { answer, isTimeOver } = await ask(asked, limits)
      if (answer === 'gone') throw new Error('The thread of the plug-ins ended.')
      if (answer === 'late') await thread.terminate()
      if (answer === 'late' || (!answer.ok && isTimeOver)) {
        return failed('TIMEOUT', `Not solved within ${limits.timeoutMs} ms.`)
      }
      return outcomeOf(answer, asked.type, performance.now() - started)
    },
  }
}

/** The problem types that the modules solve. */
function loaded(thread: Worker): Promise<string[]> {
  thread.ref() // nothing else may keep the process alive while the modules load
  return new Promise<string[]>((resolve, reject) => {
    const fail = (why: string) => reject(new StartError(`SOLVER_PLUGINS: ${why}.`))
    thread.once('message', (message: FromThread) => {
      if ('loaded' in message) resolve(message.loaded)
      else fail('broken' in message ? message.broken : 'the thread of the plug-ins did not start')
    })
    thread.once('error', (error) => fail(error.message))
    thread.once('exit', () => fail('a module ended its thread'))
  }).finally(() => thread.unref())
}

const failed = (code: string, message: string): CallbackOutcome => ({
  status: 'failed',
  error_code: code,
  error_message: message,
})

function outcomeOf(answer: Exclude<PluginAnswer, string>, type: string, computeMs: number): CallbackOutcome {
  if (!answer.ok) {
    const message = storableText(answer.message, MESSAGE_CHARS_MAX)
    if (answer.code === null) throw new Error(`The plug-in for ${type} failed: ${message}`)
    return failed(CODE.test(answer.code) ? answer.code : 'SOLVER_FAILED', message)
  }
  const { answer: text } = answer
  if (typeof text !== 'string') return failed('SOLVER_FAILED', 'The answer of the plug-in is not a string.')
  if (text.length > ANSWER_CHARS_MAX) return failed('TOO_LARGE', 'The answer is too long.')
  return solved(type, text.toWellFormed().replaceAll('\0', '\u{fffd}'), computeMs)
}
