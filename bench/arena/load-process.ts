// The process that makes the load, a small program in C (load.c), and what is said to it. It only plays: how players get
// into their sessions is asked for from here.

import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { stopChild } from '../servers/stop-child.ts'
import type { Stop, Teardown } from '../teardown.ts'
import { STATES_PER_INPUT, TICK_MS } from './game.ts'
import { colyseusSessions } from './players/colyseus.ts'
import type { Address } from './players/post.ts'
import { reeveSessions } from './players/reeve.ts'

const SOURCE = fileURLToPath(new URL('load.c', import.meta.url))
const SESSIONS = { reeve: reeveSessions, colyseus: colyseusSessions }
/** Sessions that begin at a time: a crowd at the door is not what is measured. */
const JOINING_MAX = 50
const PATIENCE_MS = 120_000
const STOP_MS_MAX = 1000

export interface Measured {
  /** Of states that came late, by the players' clock. */
  p50: number
  p99: number
  max: number
  statesPerSocket: number
  /** Sockets that were closed, since the beginning. */
  lost: number
}

export interface Load {
  /** So many more sessions; resolves when all of them run. */
  add(sessions: number): Promise<void>
  measure(ms: number): Promise<Measured>
  stop: Stop
}

export interface Crowd {
  /** Resolves when the server has let the player in. */
  open(path: string, token: string): Promise<void>
}

export async function startLoad(
  game: keyof typeof SESSIONS,
  address: Address,
  folder: string,
  teardown: Teardown,
): Promise<Load> {
  const program = join(folder, 'load')
  const rules = [`-DTICK_MS=${TICK_MS}`, `-DSTATES_PER_INPUT=${STATES_PER_INPUT}`]
  await promisify(execFile)('cc', ['-O2', '-D_GNU_SOURCE', ...rules, '-o', program, SOURCE])
  const child = spawn(program, [address.host, String(address.port), game], { stdio: ['pipe', 'pipe', 'inherit'] })
  const stop = teardown.add(() => stopChild(child, STOP_MS_MAX))
  const players = new Listening(child)
  const addSession = SESSIONS[game](players, address)
  return {
    async add(sessions) {
      for (let left = sessions; left > 0; left -= JOINING_MAX) {
        await Promise.all(Array.from({ length: Math.min(JOINING_MAX, left) }, addSession))
      }
      await players.allPlay()
    },
    measure: (ms) => players.measure(ms),
    stop,
  }
}

class Listening implements Crowd {
  readonly #child: ChildProcess
  readonly #entering = new Map<number, () => void>()
  #sockets = 0
  #playing = 0
  #lost = 0
  #onPlaying: () => void = () => {}
  #onMeasured: (figures: readonly number[]) => void = () => {}
  #fail: (error: Error) => void = () => {}
  readonly #ended = new Promise<never>((_, reject) => (this.#fail = reject))

  constructor(child: ChildProcess) {
    this.#child = child
    this.#ended.catch(() => {})
    if (child.stdout === null) throw new Error('The load has no output.')
    createInterface({ input: child.stdout }).on('line', (line) => this.#hear(line.split(' ')))
    child.once('exit', (code) => this.#fail(new Error(`The load ended (${code}).`)))
  }

  async open(path: string, token: string): Promise<void> {
    const number = this.#sockets
    this.#sockets += 1
    const entered = new Promise<void>((resolve) => this.#entering.set(number, resolve))
    this.#child.stdin?.write(`open ${path} ${token}\n`)
    await this.#within(entered)
  }

  async allPlay(): Promise<void> {
    const all = new Promise<void>((resolve) => {
      this.#onPlaying = () => this.#playing + this.#lost >= this.#sockets && resolve()
    })
    this.#onPlaying()
    await this.#within(all)
  }

  async measure(ms: number): Promise<Measured> {
    const answer = new Promise<readonly number[]>((resolve) => (this.#onMeasured = resolve))
    this.#child.stdin?.write(`measure ${ms}\n`)
    const [p50 = NaN, p99 = NaN, max = NaN, states = NaN] = await this.#within(answer)
    return { p50, p99, max, statesPerSocket: (states * 1000) / ms / this.#sockets, lost: this.#lost }
  }

  #hear([what, ...rest]: readonly string[]): void {
    if (what === 'in') this.#entering.get(Number(rest[0]))?.()
    else if (what === 'measured') this.#onMeasured(rest.map(Number))
    else if (what === 'playing') this.#playing = Number(rest[0])
    else if (what === 'lost') {
      this.#lost += 1
      if (this.#lost <= 3) console.error(`load: player ${rest.join(' ')}`)
    }
    this.#onPlaying()
  }

  async #within<T>(answer: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('The load is stuck.')), PATIENCE_MS)
    })
    try {
      return await Promise.race([answer, this.#ended, late])
    } finally {
      clearTimeout(timer)
    }
  }
}
