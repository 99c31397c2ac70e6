// Runs files of tests side by side, each in a process of its own.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { compiled } from '../compile.ts'
import type { Scratch } from './scratch.ts'

const FILE_TIMEOUT_MS = 900_000
const FILES_PER_CORE = 2 // tests wait about as much as they work
const NODE_OPTIONS = ['--enable-source-maps', '--test-reporter=spec']

export interface RanFile {
  file: string
  ok: boolean
  tests: number
  skipped: readonly string[]
  ms: number
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
  return { file, ok, ms, tests: count(said), skipped: skips(said), output: [said, ...remarks].join('\n') }
}

function show({ file, ok, tests, ms, output }: RanFile, isVerbose: boolean): void {
  if (!ok || isVerbose) console.log(output)
  console.log(`${ok ? '✔' : '✖'} ${file} (${tests} tests, ${(ms / 1000).toFixed(1)} s)`)
}

const count = (output: string): number => Number(/^ℹ tests (\d+)$/m.exec(output)?.[1] ?? 0)

const skips = (output: string): string[] => [...output.matchAll(/^\s*﹣ (.*)$/gm)].map((match) => match[1] ?? '')
