// The process that makes the load, a small program in C (load.c), and what is said to it.
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { PrivateKey } from '@reeve/sdk/pool'
import { stopChild } from '../servers/stop-child.ts'
import type { Stop, Teardown } from '../teardown.ts'
import type { Account } from './server.ts'

const SOURCE = fileURLToPath(new URL('load.c', import.meta.url))
const PATIENCE_MS = 120_000
const STOP_MS_MAX = 1000

export interface Measured {
  /** Jobs that ended, or for a paced client those that were accepted. */
  done: number
  /** From a submit to the worker, in ms. */
  p50: number
  p99: number
  max: number
  /** Of the load itself. */
  cpuMs: number
}

export interface Load {
  worker(id: number, owner: Account): void
  /** `more`: further members of its jobs. */
  client(account: Account, options: { more?: object; pauseMs?: number }): void
  measure(ms: number): Promise<Measured>
  /** Resolves when every client has its answer. */
  settle(): Promise<void>
  stop: Stop
}

/** Needs a C compiler and OpenSSL's headers (Debian: gcc, libssl-dev). */
export async function compileLoad(folder: string): Promise<string> {
  const program = join(folder, 'pool-load')
  await promisify(execFile)('cc', ['-O2', '-D_GNU_SOURCE', '-o', program, SOURCE, '-lcrypto'])
  return program
}

export function startLoad(program: string, url: string, key: PrivateKey, teardown: Teardown): Load {
  const { hostname, port } = new URL(url)
  const seed = Buffer.from(key.d, 'base64url').toString('hex')
  const child = spawn(program, [hostname, port, seed], { stdio: ['pipe', 'pipe', 'inherit'] })
  const stop = teardown.add(() => stopChild(child, STOP_MS_MAX))
  const hearing = new Hearing(child)
  const say = (line: string) => void child.stdin.write(`${line}\n`)
  const tokenOf = ({ authorization }: Account) => authorization.replace('Bearer ', '')
  return {
    worker: (id, owner) => say(`worker ${id} ${tokenOf(owner)}`),
    client(account, { more = {}, pauseMs }) {
      const members = Object.entries(more).map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`)
      const how = pauseMs === undefined ? 'wait' : `paced ${pauseMs}`
      say(`client ${tokenOf(account)} ${how} ${members.join('') || '-'}`)
    },
    async measure(ms) {
      say(`measure ${ms}`)
      const [done = NaN, p50 = NaN, p99 = NaN, max = NaN, cpuMs = NaN] = await hearing.of('measured', ms + PATIENCE_MS)
      return { done, p50, p99, max, cpuMs }
    },
    async settle() {
      say('stop')
      await hearing.of('stopped', PATIENCE_MS)
    },
    stop,
  }
}

class Hearing {
  readonly #waiting = new Map<string, (figures: number[]) => void>()
  #fail: (error: Error) => void = () => {}
  readonly #ended = new Promise<never>((_, reject) => (this.#fail = reject))

  constructor(child: ChildProcess) {
    this.#ended.catch(() => {})
    if (child.stdout === null) throw new Error('The load has no output.')
    createInterface({ input: child.stdout }).on('line', (line) => {
      const [what = '', ...figures] = line.split(' ')
      this.#waiting.get(what)?.(figures.map(Number))
    })
    child.once('exit', (code) => this.#fail(new Error(`The load ended (${code}).`)))
  }

  async of(what: string, patienceMs: number): Promise<number[]> {
    const answer = new Promise<number[]>((resolve) => this.#waiting.set(what, resolve))
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('The load is stuck.')), patienceMs)
    })
    try {
      return await Promise.race([answer, this.#ended, late])
    } finally {
      clearTimeout(timer)
    }
  }
}
