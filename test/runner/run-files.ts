// Runs files of tests side by side, each in a process of its own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { compiled } from '../compile.ts'
import type { Scratch } from './scratch.ts'

const FILE_TIMEOUT_MS = 900_000
const FILES_PER_CORE = 2 // with three, tests that wait for a minute fail on a busy machine
const NODE_OPTIONS = ['--enable-source-maps', '--test-reporter=spec']

export interface RanFile {
  file: string
  ok: boolean
  tests: number
  skipped: readonly string[]
  ms: number
  /** Processor time of the file's processes. Its share of the database's work is not in it. */
  cpuMs: number
  output: string
}

export interface RunFilesOptions {
  env: NodeJS.ProcessEnv
  scratch: Scratch
  /** Shows the output of files that passed, too. */
  isVerbose: boolean
}

export async function runFiles(files: readonly string[], options: RunFilesOptions): Promise<RanFile[]> {
  const waiting = [...files]
  const ran: RanFile[] = []
  processorTime.begin()
  const stop = new AbortController()
  const onSignal = () => stop.abort()
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)

  const work = async () => {
    for (let file = waiting.shift(); file !== undefined && !stop.signal.aborted; file = waiting.shift()) {
      const one = await runFile(file, options, stop.signal)
      ran.push(one)
      show(one, options.isVerbose)
    }
  }
  await Promise.all(Array.from({ length: availableParallelism() * FILES_PER_CORE }, work))
  process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  return ran
}

async function runFile(file: string, { env, scratch }: RunFilesOptions, signal: AbortSignal): Promise<RanFile> {
  const place = scratch.open()
  const began = performance.now()
  const child = spawn(process.execPath, [...NODE_OPTIONS, compiled(file)], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...env, ...place.env },
  })
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => chunks.push(chunk))
  const end = () => child.kill('SIGTERM')
  signal.addEventListener('abort', end)
  const timer = setTimeout(() => child.kill('SIGKILL'), FILE_TIMEOUT_MS)
  const [code, killedBy] = await once(child, 'exit')
  const cpuMs = processorTime.next()
  clearTimeout(timer)
  signal.removeEventListener('abort', end)
  const ms = performance.now() - began

  const left = await place.clear()
  const remarks = [
    ...(killedBy === null ? [] : [`✖ ended by ${killedBy} after ${Math.round(ms / 1000)} s`]),
    ...left.map((what) => `✖ left behind: ${what}`),
  ]
  const said = Buffer.concat(chunks).toString()
  const ok = code === 0 && remarks.length === 0
  return { file, ok, ms, cpuMs, tests: count(said), skipped: skips(said), output: [said, ...remarks].join('\n') }
}

function show({ file, ok, tests, ms, cpuMs, output }: RanFile, isVerbose: boolean): void {
  if (!ok || isVerbose) console.log(output)
  const seconds = `${(ms / 1000).toFixed(1)} s, ${(cpuMs / 1000).toFixed(1)} s of processor time`
  console.log(`${ok ? '✔' : '✖'} ${file} (${tests} tests, ${seconds})`)
}

/** What the children that have ended used, read after the end of each: the kernel adds it up. Zero where there is no /proc. */
const processorTime = {
  seen: 0,
  /** What ended before is nobody's: compilers. */
  begin(): void {
    this.seen = ofEndedChildren()
  },
  next(): number {
    const now = ofEndedChildren()
    const used = now - this.seen
    this.seen = now
    return used
  },
}

const TICK_MS = 10
const CUTIME = 13 // among the fields after the command's name, which may contain blanks
function ofEndedChildren(): number {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
    return (Number(fields[CUTIME]) + Number(fields[CUTIME + 1])) * TICK_MS
  } catch {
    return 0
  }
}

const count = (output: string): number => Number(/^ℹ tests (\d+)$/m.exec(output)?.[1] ?? 0)

const skips = (output: string): string[] => [...output.matchAll(/^\s*﹣ (.*)$/gm)].map((match) => match[1] ?? '')
