// What `reeve worker run` does with a job: a command, or a module. (The judge's sandbox is in worker-judge.ts.)
import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Handler, HandlerResult } from '@reeve/sdk/pool'
import { environment } from '../../core/config.ts'
import { CommandFailed } from '../failure.ts'

const OUTPUT_BYTES_MAX = 4 * 1024 * 1024 // the server takes bodies of 5 MB
const ERROR_CHARS_MAX = 2000

/** Never handed to what the worker runs. */
const SECRETS: ReadonlySet<string> = new Set(['WORKER_API_KEY'])

/**
 * The job's JSON on standard input, a JSON object on standard output. Any exit but 0 is a failure, with what was said on
 * standard error. A job that is no longer wanted is killed, with all that it started.
 */
export const execHandler =
  (command: string): Handler =>
  (_job, { text, signal, assignmentId }) =>
    new Promise<HandlerResult>((done) => {
      const env = Object.fromEntries(Object.entries(environment()).filter(([name]) => !SECRETS.has(name)))
      const child = spawn('sh', ['-c', command], {
        env: { ...env, REEVE_ASSIGNMENT_ID: String(assignmentId) },
        stdio: ['pipe', 'pipe', 'pipe'],
        detached: true, // a group of its own, so that its children can be killed with it
      })
      const kill = () => {
        if (child.pid !== undefined) killGroup(child.pid)
      }
      const output = collect(child.stdout, OUTPUT_BYTES_MAX, kill)
      const errors = collect(child.stderr, ERROR_CHARS_MAX)
      signal.addEventListener('abort', kill)
      child.on('error', (error) => done({ errorMessage: `The command could not be started: ${error.message}` }))
      child.on('close', (code, killedBy) => {
        signal.removeEventListener('abort', kill)
        if (output.isTooMuch()) return done({ errorMessage: `The command wrote more than ${OUTPUT_BYTES_MAX} bytes.` })
        if (code === 0) return done({ outputText: output.text() })
        const how = killedBy === null ? `exited with code ${code}` : `was killed by ${killedBy}`
        return done({ errorMessage: `The command ${how}. ${errors.text().trim()}`.trim() })
      })
      child.stdin.on('error', () => {}) // a command need not read its input
      child.stdin.end(text)
    })

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // it has ended by itself
  }
}

function collect(stream: NodeJS.ReadableStream, bytesMax: number, onTooMuch: () => void = () => {}) {
  const chunks: Buffer[] = []
  let bytes = 0
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes <= bytesMax) chunks.push(chunk)
    else onTooMuch()
  })
  return { text: () => Buffer.concat(chunks).toString(), isTooMuch: () => bytes > bytesMax }
}

/** `export async function handle(job, context)`, returning `{output}`, `{errorMessage}`, … */
export async function moduleHandler(file: string): Promise<Handler> {
  const loaded: unknown = await import(pathToFileURL(resolve(file)).href)
  if (!hasHandle(loaded)) throw new CommandFailed(`${file} does not export a function named handle.`, 2)
  return (job, context) => loaded.handle(job, context)
}

const hasHandle = (loaded: unknown): loaded is { handle: Handler } =>
  typeof loaded === 'object' && loaded !== null && 'handle' in loaded && typeof loaded.handle === 'function'
