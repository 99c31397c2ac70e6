// A server of the benchmark must not outlive it: not after Ctrl-C, not even after SIGKILL of the benchmark. Each gets
// a process group of its own (Ctrl-C reaches the whole foreground group and would kill it under a running measurement)
// and, where the system offers it, dies with its parent.

import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

const STOP_MS_MAX = 10_000
const START_MS_MAX = 20_000
const PROBE_EVERY_MS = 20

export interface BoundProcess {
  pid: number
  /** Resolves when `probe` stops throwing; rejects with the server's own words if it ends or takes too long. */
  ready(probe: () => Promise<void>): Promise<void>
  stop(signal: NodeJS.Signals): Promise<void>
}

export function spawnBound(command: readonly string[]): BoundProcess {
  const [file = '', ...args] = [...dieWithParent(), ...command]
  const child = spawn(file, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = keepLastLines(child)

  return {
    pid: child.pid ?? 0,

    async ready(probe) {
      const started = performance.now()
      for (;;) {
        const refused = await probe().then(
          () => null,
          (error: unknown) => error,
        )
        if (refused === null) return
        const ended = child.exitCode !== null || child.signalCode !== null
        if (ended || performance.now() - started > START_MS_MAX) {
          throw new Error(`${command.join(' ')} did not start: ${output()}`, { cause: refused })
        }
        await sleep(PROBE_EVERY_MS)
      }
    },

    async stop(signal) {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      killGroup(child, signal)
      const late = setTimeout(() => killGroup(child, 'SIGKILL'), STOP_MS_MAX)
      await ended
      clearTimeout(late)
    },
  }
}

function dieWithParent(): string[] {
  const found = spawnSync('setpriv', ['--version']).status === 0
  return found ? ['setpriv', '--pdeathsig', 'KILL'] : []
}

function killGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid !== undefined) process.kill(-child.pid, signal)
}

function keepLastLines(child: ChildProcess): () => string {
  let text = ''
  const keep = (chunk: Buffer): void => {
    text = (text + chunk.toString()).slice(-2_000)
  }
  child.stdout?.on('data', keep)
  child.stderr?.on('data', keep)
  child.on('error', (error) => {
    text += error.message
  })
  return () => text.trim()
}
