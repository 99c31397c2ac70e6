// Runs files of tests side by side, each in a process of its own, or several in one.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { basename, dirname } from 'node:path'
import { compiled } from '../compile.ts'
import { hasSpareTime } from './idle.ts'
import type { Scratch } from './scratch.ts'
import { withSourcePlaces } from './source-places.ts'

const FILE_TIMEOUT_MS = 900_000
const FILES_PER_CORE = 2 // with more, tests that wait for a minute fail on a busy machine
const SPARE_FILES_PER_CORE = 1 // on top, while the machine is idle: many tests mostly wait
const RUN_GROUP = 'test/runner/run-group.ts'
const NODE_OPTIONS = ['--test-reporter=spec']

export interface RanGroup {
  /** One file, or several of a folder: `test/unit/{cursor,json}`. */
  name: string
  files: number
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

export async function runFiles(groups: readonly string[][], options: RunFilesOptions): Promise<RanGroup[]> {
  const waiting = [...groups]
  const ran: RanGroup[] = []
  processorTime.begin()
  const stop = new AbortController()
  const onSignal = () => stop.abort()
  process.once('SIGINT', onSignal).once('SIGTERM', onSignal)

  const isOver = () => waiting.length === 0 || stop.signal.aborted
  const runNext = async () => {
    const one = await runGroup(waiting.shift() ?? [], options, stop.signal)
    ran.push(one)
    show(one, options.isVerbose)
  }
  const work = async () => {
    while (!isOver()) await runNext()
  }
  const workInSpareTime = async () => {
    while (!isOver()) if ((await hasSpareTime()) && !isOver()) await runNext()
  }
  const cores = availableParallelism()
  await Promise.all([
    ...Array.from({ length: cores * FILES_PER_CORE }, work),
    ...Array.from({ length: cores * SPARE_FILES_PER_CORE }, workInSpareTime),
  ])
  process.off('SIGINT', onSignal).off('SIGTERM', onSignal)
  return ran
}

async function runGroup(files: string[], { env, scratch }: RunFilesOptions, signal: AbortSignal): Promise<RanGroup> {
  const place = scratch.open()
  const began = performance.now()
  const started = files.length === 1 ? files.map(compiled) : [compiled(RUN_GROUP), ...files.map(compiled)]
  const child = spawn(process.execPath, [...NODE_OPTIONS, ...started], {
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
  const output = withSourcePlaces([said, ...remarks].join('\n'))
  return { name: nameOf(files), files: files.length, ok, ms, cpuMs, tests: count(said), skipped: skips(said), output }
}

function nameOf(files: readonly string[]): string {
  const [first = ''] = files
  if (files.length === 1) return first
  return `${dirname(first)}/{${files.map((file) => basename(file, '.test.ts')).join()}}`
}

function show({ name, ok, tests, ms, cpuMs, output }: RanGroup, isVerbose: boolean): void {
  if (!ok || isVerbose) console.log(output)
  const seconds = `${(ms / 1000).toFixed(1)} s, ${(cpuMs / 1000).toFixed(1)} s of processor time`
  console.log(`${ok ? '✔' : '✖'} ${name} (${tests} tests, ${seconds})`)
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
