// Starts a program that ends with this process. A keeper, a shell of a few hundred kilobytes, reads from a
// pipe that this process holds open: a line means that the program has ended and there is nothing to do; the end of the
// pipe means that this process is dead, and the program gets SIGINT, PostgreSQL's fast shutdown. Unlike the kernel's
// parent-death signal this works on macOS, through a user namespace and across a change of user. The shell that starts
// the keeper becomes the program (exec), so the pid that is known here is the program's.
//
// The program leads a session of its own: Ctrl-C, which goes to the whole foreground group, does not reach it, and the
// database serves until it is told to stop. The keeper ignores the signals a service manager sends to every process.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { Socket } from 'node:net'
import assert from 'node:assert/strict'
import { CHILD_ENV, type RunAs } from './run-as.ts'

// The keeper is started from a shell that ends at once, or it would be a child that PostgreSQL does not know.
const SCRIPT = `
  ( ( trap '' HUP INT QUIT TERM; read -r line <&3 || kill -INT $$ ) >/dev/null 2>&1 & )
  exec "$@" 3<&-`

export interface Exit {
  code: number | null
  signal: string | null
}

export interface Launched {
  pid: number
  /** Resolves when the program and its keeper are gone. */
  exited: Promise<Exit>
  kill(signal: 'SIGINT' | 'SIGQUIT' | 'SIGKILL'): void
}

export interface Launch {
  runAs: RunAs
  command: readonly string[]
  /** Receives everything the program prints. */
  outputFd: number
  input?: string
  /** Variables beside those that every program here gets. */
  env?: Readonly<Record<string, string>>
}

export async function launch({ runAs, command, outputFd, input = '', env = {} }: Launch): Promise<Launched> {
  const [program = 'sh', ...args] = [...runAs.prefix, 'sh', '-c', SCRIPT, 'sh', ...command]
  const child = spawn(program, args, {
    ...(process.getuid?.() === 0 ? runAs.owner : {}),
    cwd: '/',
    detached: true,
    env: { ...CHILD_ENV, ...env },
    stdio: ['pipe', outputFd, outputFd, 'pipe'],
  })
  const ended = new Promise<Exit>((resolve) => child.once('exit', (code, signal) => resolve({ code, signal })))
  await once(child, 'spawn')

  const keeper = child.stdio[3]
  assert(keeper instanceof Socket && child.pid !== undefined && child.stdin !== null)
  // A keeper or a program that is already gone makes the writes below fail, which changes nothing.
  keeper.on('error', () => {})
  child.stdin.on('error', () => {})
  child.stdin.end(input)

  return { pid: child.pid, exited: dismissAfter(ended, keeper), kill: (signal) => void child.kill(signal) }
}

async function dismissAfter(ended: Promise<Exit>, keeper: Socket): Promise<Exit> {
  const closed = new Promise<void>((resolve) => keeper.once('close', () => resolve()))
  keeper.resume() // or its end would never be seen
  const exit = await ended
  keeper.end('\n')
  await closed
  return exit
}
