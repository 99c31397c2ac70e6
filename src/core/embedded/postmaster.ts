// One run of the server process: launched, ready, stopped.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Binaries } from './binaries.ts'
import { type Exit, launch, type Launched } from './launch.ts'
import { clearLeftover } from './leftover.ts'
import type { LogFile } from './log-file.ts'
import { readPidFile } from './pid-file.ts'
import type { RunAs } from './run-as.ts'
import { removeSocket } from './socket-dir.ts'
import { StartError } from '../start-error.ts'

const POLL_MS = 10
const READY_MS_MAX = 10 * 60_000 // after a crash, recovery reads up to max_wal_size from a disk of unknown speed
const LEFTOVER_MS_MAX = 30_000
const LEFTOVER_PAUSE_MS = 250

/** A server whose processes are still ending makes the next one refuse with one of these. */
const STILL_ENDING = ['pre-existing shared memory block', 'lock file "postmaster.pid" already exists']

/** The postmaster of an immediate shutdown ends its children within five seconds. */
const STOP_STEPS = [
  { signal: 'SIGINT', waitMs: 30_000 },
  { signal: 'SIGQUIT', waitMs: 10_000 },
  { signal: 'SIGKILL', waitMs: 10_000 },
] as const

export interface Postmaster {
  pid: number
  exited: Promise<Exit & { expected: boolean }>
  stop(): Promise<void>
}

interface PostmasterOptions {
  binaries: Binaries
  cluster: string
  socketDir: string
  runAs: RunAs
  logFile: LogFile
  log: (line: string) => void
  env: Readonly<Record<string, string>>
}

/** Resolves when the server accepts connections. */
export async function startPostmaster(options: PostmasterOptions): Promise<Postmaster> {
  const deadline = AbortSignal.timeout(LEFTOVER_MS_MAX)
  for (;;) {
    await clearLeftover(options.cluster, options.log)
    await removeSocket(options.socketDir) // its lock file names a pid, too, which may be another process's by now
    const outcome = await tryStart(options)
    if (outcome.ok) return outcome.postmaster

    const ending = STILL_ENDING.some((text) => outcome.said.includes(text))
    if (!ending || deadline.aborted) throw new StartError(`The embedded PostgreSQL did not start: ${outcome.said}`)
    await sleep(LEFTOVER_PAUSE_MS)
  }
}

type Outcome = { ok: true; postmaster: Postmaster } | { ok: false; said: string }

async function tryStart({ binaries, cluster, runAs, logFile, env }: PostmasterOptions): Promise<Outcome> {
  const said = logFile.mark()
  const launched = await launch({ runAs, command: [binaries.postgres, '-D', cluster], outputFd: logFile.fd, env })
  const postmaster = supervise(launched)
  if (await untilReady(cluster, launched)) return { ok: true, postmaster }

  await postmaster.stop()
  return { ok: false, said: await said.tail() }
}

/** False if the server ended, or did not come up in time. */
async function untilReady(cluster: string, { pid, exited }: Launched): Promise<boolean> {
  const ended = new AbortController()
  void exited.then(() => ended.abort())
  const over = AbortSignal.any([ended.signal, AbortSignal.timeout(READY_MS_MAX)])
  while (!over.aborted) {
    const found = await readPidFile(cluster)
    if (found?.pid === pid && found.status === 'ready') return true
    await sleep(POLL_MS)
  }
  return false
}

function supervise({ pid, exited, kill }: Launched): Postmaster {
  let expected = false
  let stopping: Promise<void> | null = null
  return {
    pid,
    exited: exited.then((exit) => ({ ...exit, expected })),
    stop() {
      expected = true
      stopping ??= stopInSteps(exited, kill)
      return stopping
    },
  }
}

async function stopInSteps(exited: Promise<Exit>, kill: Launched['kill']): Promise<void> {
  for (const { signal, waitMs } of STOP_STEPS) {
    kill(signal)
    if (await endsWithin(exited, waitMs)) return
  }
  throw new StartError('The embedded PostgreSQL did not end, even when killed.')
}

async function endsWithin(exited: Promise<Exit>, waitMs: number): Promise<boolean> {
  const timer = new AbortController()
  const late = sleep(waitMs, false, { signal: timer.signal }).catch(() => false) // only rejects on abort
  const ended = await Promise.race([exited.then(() => true), late])
  timer.abort()
  return ended
}
