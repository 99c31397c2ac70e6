// One helper process: one command in, one line out. Both of its pipes are always drained; what is kept of them is bounded.
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { ProtocolError, SandboxError } from './sandbox-error.ts'

/** How long a helper may take to start, to make a box, or, told to stop, to kill what runs and remove its cgroups. */
const ANSWER_WAIT_MS = 30_000
const END_WAIT_MS = 10_000
/** As the helper reads them. */
const COMMAND_BYTES_MAX = 128 * 1024 - 2

export interface HelperOptions {
  program: string
  args: readonly string[]
  stdoutLimitBytes: number
  stderrLimitBytes: number
  onTruncated(stream: 'stdout' | 'stderr'): void
  /** Removes what the process may have left. */
  onEnded(): Promise<void>
}

export interface Helper {
  /** The answer to one command; one at a time. A helper that takes longer is killed. */
  ask(command: object, withinMs?: number): Promise<unknown>
  /** Several answers, each within that time, until `hear` says that it was the last. */
  askForSeveral(commands: readonly object[], withinMs: number, hear: (answer: unknown) => boolean): Promise<void>
  /** Ends the run in progress; its answer still comes. */
  interrupt(): void
  readonly isAlive: boolean
  /** Resolves when the process is gone, and with it everything that it ran. Idempotent. */
  end(): Promise<void>
}

interface PendingAnswer {
  /** Says whether it was the last. */
  hear(answer: unknown): boolean
  resolve(): void
  reject(error: unknown): void
  timer: NodeJS.Timeout
}

/** Starts the process and waits for its first line: it is ready, or a call that it needs was refused. */
export async function startHelper(options: HelperOptions): Promise<{ helper: Helper; hello: unknown }> {
  // A process group of its own: Ctrl-C in a terminal must not end it before the server has drained.
  const child = spawn(options.program, options.args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    detached: true,
    cwd: '/',
    env: {},
  })
  const helper = new HelperProcess(child, options)
  const hello = await helper.nextLine(ANSWER_WAIT_MS)
  return { helper, hello }
}

class HelperProcess implements Helper {
  private waiting: PendingAnswer | null = null
  private line: Buffer[] = []
  private lineBytes = 0
  private stderr = ''
  private readonly child: ChildProcessWithoutNullStreams
  private readonly options: HelperOptions
  private readonly exited: Promise<unknown>
  isAlive = true

  constructor(child: ChildProcessWithoutNullStreams, options: HelperOptions) {
    this.child = child
    this.options = options
    this.exited = new Promise((resolve) => child.once('close', resolve))
    child.on('error', (error) => this.gone(error.message))
    child.on('close', (code, signal) => this.gone(signal ?? `exit code ${code}`))
    child.stdin.on('error', () => {}) // it is gone, which `close` tells
    child.stdout.on('data', (chunk: Buffer) => this.heard(chunk))
    child.stderr.on('data', (chunk: Buffer) => this.complained(chunk))
  }

  async nextLine(withinMs: number): Promise<unknown> {
    let answer: unknown
    await this.listen(withinMs, (line) => {
      answer = line
      return true
    })
    return answer
  }

  async ask(command: object, withinMs = ANSWER_WAIT_MS): Promise<unknown> {
    let answer: unknown
    await this.askForSeveral([command], withinMs, (line) => {
      answer = line
      return true
    })
    return answer
  }

  async askForSeveral(
    commands: readonly object[],
    withinMs: number,
    hear: (answer: unknown) => boolean,
  ): Promise<void> {
    if (this.waiting !== null) throw new SandboxError('The helper is busy.')
    if (!this.isAlive) throw new ProtocolError('no_answer', 'the helper has ended')
    const lines = commands.map((command) => `${JSON.stringify(command)}\n`)
    if (lines.some((line) => Buffer.byteLength(line) > COMMAND_BYTES_MAX))
      throw new SandboxError(`A command has more than ${COMMAND_BYTES_MAX} bytes.`)
    const heard = this.listen(withinMs, hear)
    this.stderr = ''
    this.child.stdin.write(lines.join(''))
    await heard
  }

  private listen(withinMs: number, hear: PendingAnswer['hear']): Promise<void> {
    const timer = setTimeout(() => this.child.kill('SIGKILL'), withinMs)
    return new Promise((resolve, reject) => (this.waiting = { hear, resolve, reject, timer }))
  }

  interrupt(): void {
    if (this.isAlive) this.child.kill('SIGUSR1')
  }

  async end(): Promise<void> {
    this.child.stdin.end()
    const timer = setTimeout(() => this.child.kill('SIGKILL'), END_WAIT_MS)
    if (this.isAlive) await this.exited
    clearTimeout(timer)
    await this.options.onEnded()
  }

  private settle(settle: (waiting: PendingAnswer) => void): void {
    const { waiting } = this
    if (waiting === null) return
    this.waiting = null
    clearTimeout(waiting.timer)
    settle(waiting)
  }

  private gone(how: string): void {
    this.isAlive = false
    const said = this.stderr === '' ? '' : `: ${this.stderr.slice(-1000)}`
    this.settle(({ reject }) => reject(new ProtocolError('no_answer', `the helper ended (${how})${said}`)))
  }

  private heard(chunk: Buffer): void {
    for (let rest = chunk; rest.length > 0;) {
      const end = rest.indexOf(0x0a)
      const part = end === -1 ? rest : rest.subarray(0, end)
      this.lineBytes += part.length
      if (this.lineBytes <= this.options.stdoutLimitBytes) this.line.push(part)
      if (end === -1) return
      rest = rest.subarray(end + 1)
      this.answered(Buffer.concat(this.line).toString(), this.lineBytes > this.options.stdoutLimitBytes)
      this.line = []
      this.lineBytes = 0
    }
  }

  private answered(line: string, isTruncated: boolean): void {
    if (isTruncated) {
      this.options.onTruncated('stdout')
      return this.settle(({ reject }) => reject(new ProtocolError('truncated', 'more than JUDGE_STDOUT_LIMIT_BYTES')))
    }
    let answer: unknown
    try {
      answer = JSON.parse(line)
    } catch {
      return this.settle(({ reject }) => reject(new ProtocolError('invalid_json', line.slice(0, 200))))
    }
    this.tell(answer)
  }

  private tell(answer: unknown): void {
    const { waiting } = this
    if (waiting === null) return
    try {
      if (waiting.hear(answer)) this.settle(({ resolve }) => resolve())
      else waiting.timer.refresh()
    } catch (error) {
      this.settle(({ reject }) => reject(error))
    }
  }

  private complained(chunk: Buffer): void {
    const room = this.options.stderrLimitBytes - this.stderr.length
    if (room > 0 && chunk.length > room) this.options.onTruncated('stderr')
    if (room > 0) this.stderr += chunk.subarray(0, room).toString()
  }
}
