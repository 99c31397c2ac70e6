// A runner runs one box at a time. As an agent it keeps its helper between boxes and starts another when that one has broken; with
// `exec` every run gets a helper of its own. Both speak the same protocol to the same program.
import { join } from 'node:path'
import type { Box, BoxOptions, BoxRunner, RunReport, RunRequest, SeriesRequest } from './box.ts'
import type { Helper } from './helper-process.ts'
import { explained } from './remedies.ts'
import { parseReport } from './report.ts'
import type { RootFiles } from './root-files.ts'
import { ProtocolError, SandboxError, type ProtocolReason } from './sandbox-error.ts'
import { staticBytes } from './static-size.ts'

/** After so many helpers in a row that broke, a runner runs each program with a helper of its own. */
const BROKEN_MAX = 3
/** The helper ends a run after three times its wall-clock limit: one that does not is broken. */
const PATIENCE = 3
const PATIENCE_EXTRA_MS = 60_000
/** What a box has there is its own. */
const TAKEN = /^\/(tmp|work|dev|proc)(\/|$)|^(?!\/.)/

export interface BoxRunnerOptions {
  mode: 'agent' | 'exec'
  root: RootFiles
  /** A helper that is ready; its `end` also removes its cgroups. */
  launch(): Promise<Helper>
  onProtocolError(reason: ProtocolReason): void
  onFallBack(): void
}

export function createBoxRunner(options: BoxRunnerOptions): BoxRunner {
  const session = new HelperSession(options)
  return {
    async open(boxOptions) {
      const box = new OpenBox(boxOptions, await openCommand(boxOptions, options.root), session)
      await box.prepare()
      return box
    },
    close: () => session.close(),
  }
}

/** The helper of a runner, and which box is open in it. */
class HelperSession {
  mode: 'agent' | 'exec'
  private readonly options: BoxRunnerOptions
  private helper: Helper | null = null
  private opened: OpenBox | null = null
  private closing: Promise<unknown> = Promise.resolve()
  private brokenInRow = 0
  private isClosed = false

  constructor(options: BoxRunnerOptions) {
    this.options = options
    this.mode = options.mode
  }

  /** A helper in which that box is open. */
  async helperFor(box: OpenBox): Promise<Helper> {
    await this.closing
    if (this.isClosed) throw new SandboxError('The runner is closed.')
    if (this.helper?.isAlive === false) await this.drop()
    this.helper ??= await this.launch()
    if (this.opened !== box) {
      this.opened = null
      const failure = failureIn(await this.helper.ask(box.command))
      if (failure !== null) throw new SandboxError(`The box cannot be opened: ${failure}`)
      this.opened = box
    }
    return this.helper
  }

  /** Whoever closes the runner meanwhile does not see this helper: it ends here. */
  private async launch(): Promise<Helper> {
    const helper = await this.options.launch()
    if (!this.isClosed) return helper
    await helper.end()
    throw new SandboxError('The runner is closed.')
  }

  /** The box has gone, or is about to: it is opened again if something is to run in it. */
  forget(box: OpenBox): boolean {
    if (this.opened !== box) return false
    this.opened = null
    return true
  }

  async drop(): Promise<void> {
    const { helper } = this
    this.helper = this.opened = null
    await helper?.end()
  }

  async close(): Promise<void> {
    this.isClosed = true
    await this.closing
    await this.drop()
  }

  /**
   * Taking a box apart takes a millisecond or two: whoever opens the next one waits for it, not whoever has a result. A helper
   * that fails at it is replaced.
   */
  closeBox(box: OpenBox): void {
    const { helper } = this
    if (!this.forget(box) || helper?.isAlive !== true) return
    this.closing = this.guard(() => helper.ask({ cmd: 'close' })).catch(() => {})
  }

  /** Whatever a helper that broke its protocol says next cannot be trusted: it goes. */
  async guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      const result = await work()
      this.brokenInRow = 0
      return result
    } catch (error) {
      if (error instanceof ProtocolError) {
        this.options.onProtocolError(error.reason)
        this.brokenInRow += 1
        if (this.brokenInRow === BROKEN_MAX && this.mode === 'agent') {
          this.mode = 'exec'
          this.options.onFallBack()
        }
        await this.drop()
      }
      throw error
    }
  }
}

class OpenBox implements Box {
  readonly command: object
  private readonly options: BoxOptions
  private readonly session: HelperSession
  private readonly sizes = new Map<string, number>()
  private inFlight: { interrupt(): void; ended: Promise<unknown> } | null = null
  private isClosed = false

  constructor(options: BoxOptions, command: object, session: HelperSession) {
    this.options = options
    this.command = command
    this.session = session
  }

  /** With `exec` there is nothing to prepare: each run opens the box for itself. */
  async prepare(): Promise<void> {
    if (this.session.mode === 'agent') await this.session.guard(() => this.session.helperFor(this))
  }

  async run(run: RunRequest): Promise<RunReport> {
    let report: RunReport | null = null
    await this.ask([], run, (answer) => {
      report = answer
      return true
    })
    if (report === null) throw new Error('A run ends with a report.')
    return report
  }

  async runSeries({ tests, ...run }: SeriesRequest, onReport: (report: RunReport) => void): Promise<void> {
    let left = this.session.mode === 'exec' ? 1 : tests.length
    const paths = tests.slice(0, left).flatMap(({ inputPath, answerPath }) => [inputPath, answerPath])
    await this.ask([{ cmd: 'series', tests: paths }], { ...run, stdinPath: null }, (report) => {
      onReport(report)
      left -= 1
      return left === 0 || !report.same
    })
  }

  /** `hear` says whether it was the last report. */
  private async ask(before: readonly object[], run: RunRequest, hear: (report: RunReport) => boolean): Promise<void> {
    const { signal } = this.options
    if (this.isClosed) throw new SandboxError('The box is closed.')
    const size = this.staticSize(run.argv[0] ?? '')
    try {
      await this.session.guard(async () => {
        signal?.throwIfAborted()
        const helper = await this.session.helperFor(this)
        signal?.throwIfAborted()
        await this.askIn(helper, run, [...before, runCommand(run, size)], hear)
      })
    } finally {
      if (this.session.mode === 'exec') await this.session.drop()
    }
  }

  async close(): Promise<void> {
    this.isClosed = true
    this.inFlight?.interrupt()
    await this.inFlight?.ended.catch(() => {}) // whoever runs it is told
    this.session.closeBox(this)
  }

  private async askIn(
    helper: Helper,
    run: RunRequest,
    commands: readonly object[],
    hear: (report: RunReport) => boolean,
  ): Promise<void> {
    const { signal } = this.options
    const interrupt = () => helper.interrupt()
    const ended = helper.askForSeveral(commands, PATIENCE * run.wallMs + PATIENCE_EXTRA_MS, (answer) => {
      const failure = failureIn(answer)
      if (failure !== null) throw new SandboxError(`The helper did not take the command: ${failure}`)
      const report = parseReport(answer, run)
      if (report.verdict === 'SE') this.session.forget(this)
      signal?.throwIfAborted()
      return hear(report)
    })
    this.inFlight = { interrupt, ended }
    signal?.addEventListener('abort', interrupt)
    try {
      await ended
    } finally {
      this.inFlight = null
      signal?.removeEventListener('abort', interrupt)
    }
  }

  private staticSize(program: string): number {
    if (!program.startsWith('/work/')) return 0
    const path = join(this.options.workFolder, program.slice('/work/'.length))
    const size = this.sizes.get(program) ?? staticBytes(path)
    if (!this.options.writable) this.sizes.set(program, size)
    return size
  }
}

async function openCommand(box: BoxOptions, root: RootFiles) {
  const shown = [...box.readOnlyPaths.map((path) => ({ from: path, to: path })), ...(box.mounts ?? [])]
  const hidden = shown.find(({ to }) => TAKEN.test(to))
  if (hidden !== undefined)
    throw new SandboxError(`A box cannot show ${hidden.from} as ${hidden.to}: that place is taken.`)
  const work = [box.writable ? 'writable' : 'read-only', box.workFolder, '/work']
  return { cmd: 'open', mounts: [...(await root.mountsFor(shown)), ...work] }
}

/** The helper reads strings and lists of strings, and nothing else. */
const runCommand = (run: RunRequest, size: number) => ({
  cmd: 'run',
  job_id: run.jobId,
  attempt_id: String(run.attemptId),
  argv: run.argv,
  env: Object.entries(run.env).map(([name, value]) => `${name}=${value}`),
  stdin: run.stdinPath ?? [],
  stdout: run.stdoutPath ?? [],
  stderr: run.stderrPath ?? [],
  cpu_ms: whole(run.cpuMs),
  wall_ms: whole(run.wallMs),
  memory_bytes: whole(run.memoryBytes),
  static_bytes: whole(size),
  processes: whole(run.processesMax),
  output_bytes: whole(run.outputBytesMax),
  file_bytes: whole(Math.max(run.fileBytesMax, run.outputBytesMax + 1)), // too much output is seen by its size
  disk_bytes: whole(run.diskBytesMax),
  stack_bytes: whole(run.stackBytes),
})

const whole = (value: number): string => String(Math.ceil(value))

/** `{"errno","call"}` in place of what was hoped for. */
export function failureIn(answer: unknown): string | null {
  if (typeof answer !== 'object' || answer === null || !('errno' in answer)) return null
  return explained(`${'call' in answer ? String(answer.call) : 'something'}: errno ${String(answer.errno)}`)
}
