// The serving thread's side of the judge thread: opened on first use, and opened again if it dies.
import { once } from 'node:events'
import type { Worker } from 'node:worker_threads'
import type { Logger } from 'pino'
import type { Config } from '../../../core/config.ts'
import { assertNever } from '../../../core/values/outcome.ts'
import { StartError } from '../../../core/start-error.ts'
import { besideAs, startThread } from '../../../core/concurrency/start-thread.ts'
import type { Loop } from '../../../core/loop.ts'
import type { JudgeMeter } from '../metrics.ts'
import type { JudgeSettings } from '../settings.ts'
import type { JudgeResult, TestLine } from '../submissions/result.ts'
import { Interrupted, JudgeFailure } from './box-run.ts'
import type { FromJudge, JudgeRequest, ToJudge } from './judge-messages.ts'
import type { JudgeThreadData } from './judge-thread.ts'

export interface JudgeClient {
  /** Resolves once the thread can judge. Throws one sentence if the sandbox cannot be trusted here. */
  open(): Promise<void>
  /** Throws JudgeFailure where nothing can be said about the submission, and Interrupted when the signal aborts. */
  judge(request: JudgeRequest, watcher: JudgeWatcher): Promise<JudgeResult>
  /** What to fix in the package in this folder; null: nothing, or this process does not judge. */
  check(packageFolder: string): Promise<string | null>
  /** Language → version, once it is open. */
  versions(): ReadonlyMap<string, string> | null
  loop: Loop
  close(): Promise<void>
}

export interface JudgeWatcher {
  signal: AbortSignal
  onRunning(tests: number): void
  onTest(line: TestLine): void
}

export interface JudgeClientOptions {
  config: Config
  settings: JudgeSettings
  folder: string
  meter: JudgeMeter
  log: Logger
}

const PRUNE_EVERY_MS = 600_000
const CLOSE_WAIT_MS = 30_000

interface PendingJudgement {
  watcher: JudgeWatcher
  resolve(result: JudgeResult): void
  reject(error: Error): void
}

export function openJudgeClient(options: JudgeClientOptions): JudgeClient {
  let opening: Promise<JudgeThread> | null = null
  let opened: JudgeThread | null = null

  const open = (): Promise<JudgeThread> => {
    opening ??= JudgeThread.start(options, () => {
      opening = opened = null
    }).then((thread) => (opened = thread))
    return opening
  }

  return {
    async open() {
      await open()
    },
    judge: async (request, watcher) => (await open()).judge(request, watcher),
    async check(packageFolder) {
      const thread = await opening?.catch(() => null)
      return thread === null || thread === undefined ? null : thread.check(packageFolder)
    },
    versions: () => opened?.versions ?? null,
    loop: {
      name: 'prune-judge-caches',
      everyMs: PRUNE_EVERY_MS,
      async runOnce() {
        opened?.say({ type: 'prune' })
        return false
      },
    },
    async close() {
      const thread = await opening?.catch(() => null)
      await thread?.close()
    },
  }
}

class JudgeThread {
  versions: ReadonlyMap<string, string> = new Map()
  readonly #thread: Worker
  readonly #options: JudgeClientOptions
  readonly #pending = new Map<number, PendingJudgement>()
  readonly #checks = new Map<number, (fault: string | null) => void>()
  #lastId = 0

  private constructor(options: JudgeClientOptions) {
    const { config, settings, folder } = options
    const data: JudgeThreadData = { config, settings, folder }
    this.#options = options
    this.#thread = startThread(besideAs('judge-thread', import.meta.url), { workerData: data })
  }

  /** `onDeath`: it ended without being asked to. */
  static async start(options: JudgeClientOptions, onDeath: () => void): Promise<JudgeThread> {
    const judge = new JudgeThread(options)
    const ready = new Promise<void>((resolve, reject) => {
      judge.#thread.on('message', (messages: readonly FromJudge[]) => {
        for (const message of messages) {
          if (message.type === 'ready') {
            judge.versions = new Map(message.versions)
            resolve()
          } else if (message.type === 'not_ready') reject(new StartError(message.message))
          else judge.#heard(message)
        }
      })
      judge.#thread.on('error', (err) => options.log.error({ err }, 'the judge thread failed'))
      judge.#thread.once('exit', () => {
        reject(new StartError('The judge thread ended before it was ready.'))
        judge.#died()
        onDeath()
      })
    })
    try {
      await ready
      return judge
    } catch (error) {
      await judge.#thread.terminate()
      throw error
    }
  }

  say(message: ToJudge): void {
    this.#thread.postMessage(message, [])
  }

  judge(request: JudgeRequest, watcher: JudgeWatcher): Promise<JudgeResult> {
    this.#lastId += 1
    const id = this.#lastId
    const interrupt = () => this.say({ type: 'interrupt', id })
    const { signal } = watcher
    return new Promise<JudgeResult>((resolve, reject) => {
      this.#pending.set(id, { watcher, resolve, reject })
      this.say({ type: 'judge', id, ...request })
      signal.addEventListener('abort', interrupt)
      if (signal.aborted) interrupt()
    }).finally(() => {
      this.#pending.delete(id)
      signal.removeEventListener('abort', interrupt)
    })
  }

  check(folder: string): Promise<string | null> {
    this.#lastId += 1
    const id = this.#lastId
    return new Promise<string | null>((resolve) => {
      this.#checks.set(id, resolve)
      this.say({ type: 'check', id, folder })
    }).finally(() => this.#checks.delete(id))
  }

  async close(): Promise<void> {
    const exited = once(this.#thread, 'exit')
    this.say({ type: 'close' })
    const timer = setTimeout(() => void this.#thread.terminate(), CLOSE_WAIT_MS)
    await exited
    clearTimeout(timer)
  }

  #died(): void {
    for (const { reject } of this.#pending.values()) reject(new JudgeFailure('The judge thread ended.'))
    for (const resolve of this.#checks.values()) resolve(null)
  }

  #heard(message: Exclude<FromJudge, { type: 'ready' | 'not_ready' }>): void {
    const { meter, log } = this.#options
    switch (message.type) {
      case 'running':
        return this.#pending.get(message.id)?.watcher.onRunning(message.tests)
      case 'test':
        return this.#pending.get(message.id)?.watcher.onTest(message.line)
      case 'judged':
        return this.#pending.get(message.id)?.resolve(message.result)
      case 'not_judged':
        return this.#pending
          .get(message.id)
          ?.reject(
            message.why === 'interrupted'
              ? new Interrupted('The attempt was interrupted.')
              : new JudgeFailure(message.message, { final: message.final }),
          )
      case 'checked':
        return this.#checks.get(message.id)?.(message.fault)
      case 'log':
        return logLine(log, message.line)
      case 'run_started':
        return meter.runStarted()
      case 'run_ended':
        return meter.runEnded(message.result, message.seconds)
      case 'box_closed':
        return meter.boxClosed(message.seconds)
      case 'protocol_error':
        return meter.protocolError(message.reason)
      case 'truncated':
        return meter.truncated(message.stream)
      case 'cache_lookup':
        return meter.cacheLookup(message.outcome)
      case 'closed':
        return
      default:
        return assertNever(message)
    }
  }
}

/** A line of the thread's logger, written by this one. */
function logLine(log: Logger, line: string): void {
  const { level, msg, time: _time, pid: _pid, ...fields } = JSON.parse(line)
  if (level === 'error' || level === 'fatal') log.error(fields, msg)
  else if (level === 'warn') log.warn(fields, msg)
  else if (level === 'info') log.info(fields, msg)
  else log.debug(fields, msg)
}
