// Another process, to be killed. It speaks over IPC; its last words come with a failed test.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import type { TestContext } from 'node:test'
import { atEnd } from '../support/cleanup.ts'
import { nodeArgs, ROOT } from '../support/program.ts'

const LAST_LINES_MAX = 20

export interface Message {
  what: string
  jobId?: string | null
  line?: string
}

export interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

export interface Peer {
  pid: number
  /** How often it has said this. */
  count(what: string): number
  /** The first message of that name, or the one that comes. Rejects if the process ends without it. */
  heard(what: string): Promise<Message>
  /** The first warning or error in its log that has this text. */
  logged(text: string): Promise<void>
  onMessage(listener: (message: Message) => void): void
  goOn(): void
  signal(signal: NodeJS.Signals): void
  isAlive(): boolean
  exited: Promise<Exit>
  kill(): Promise<void>
  /** Asks it to drain, and expects it to end well. */
  stop(): Promise<void>
}

export function startPeer(t: TestContext, script: URL, options: object): Peer {
  const { PATH = '', HOME = '', TMPDIR = '' } = process.env
  const args = [...nodeArgs(script), JSON.stringify(options)]
  const child = spawn(process.execPath, args, {
    cwd: ROOT,
    env: { PATH, HOME, ...(TMPDIR === '' ? {} : { TMPDIR }) },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  const exited = new Promise<Exit>((resolve) => child.once('close', (code, signal) => resolve({ code, signal })))
  const { pid } = child
  assert(pid !== undefined)
  const words = listen(child, exited)
  const signal = (name: NodeJS.Signals) => void child.kill(name)
  const isAlive = () => child.exitCode === null && child.signalCode === null

  atEnd(t, async () => {
    if (!hasPassed(t)) for (const line of words.lastLines()) t.diagnostic(`process ${pid}: ${line.trim()}`)
    signal('SIGKILL')
    await exited
  })
  return {
    ...words,
    pid,
    exited,
    signal,
    isAlive,
    goOn: () => void child.send({ what: 'go on' }),
    async kill() {
      signal('SIGKILL')
      await exited
    },
    async stop() {
      await words.heard('ready')
      assert(isAlive(), 'the process should have lived on')
      signal('SIGTERM')
      assert.deepEqual(await exited, { code: 0, signal: null })
    },
  }
}

/** Node 20 knows, its types do not. */
const hasPassed = (t: TestContext): boolean => 'passed' in t && t.passed === true

interface Speaker {
  on(event: 'message', listener: (message: unknown) => void): unknown
}

function listen(child: Speaker, exited: Promise<Exit>) {
  const first = new Map<string, Message>()
  const counts = new Map<string, number>()
  const lines: string[] = []
  const listeners: ((message: Message) => void)[] = []

  child.on('message', (raw) => {
    const message = messageFrom(raw)
    if (!first.has(message.what)) first.set(message.what, message)
    counts.set(message.what, (counts.get(message.what) ?? 0) + 1)
    if (message.line !== undefined) lines.push(message.line)
    if (lines.length > LAST_LINES_MAX) lines.shift()
    for (const listener of listeners) listener(message)
  })

  const next = (isIt: (message: Message) => boolean, name: string) =>
    new Promise<Message>((resolve, reject) => {
      listeners.push((message) => (isIt(message) ? resolve(message) : undefined))
      void exited.then(({ code, signal }) => reject(new Error(`ended (${signal ?? code}) before: ${name}`)))
    })

  return {
    count: (what: string) => counts.get(what) ?? 0,
    lastLines: () => lines,
    onMessage: (listener: (message: Message) => void) => void listeners.push(listener),
    heard: async (what: string) => first.get(what) ?? next((message) => message.what === what, what),
    async logged(text: string) {
      const has = (line: string | undefined) => line?.includes(text) === true
      if (!lines.some(has)) await next((message) => has(message.line), text)
    },
  }
}

function messageFrom(raw: unknown): Message {
  assert(typeof raw === 'object' && raw !== null && 'what' in raw && typeof raw.what === 'string')
  const jobId = 'jobId' in raw && typeof raw.jobId === 'string' ? raw.jobId : null
  return { what: raw.what, jobId, ...('line' in raw && typeof raw.line === 'string' ? { line: raw.line } : {}) }
}
