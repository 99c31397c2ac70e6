// worker.mjs, which GET /worker.mjs serves: the commands of a worker in one file with no dependencies, bundled by
// scripts/bundle-worker.js.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Command, CommanderError } from 'commander'
import { askedServer } from '../access/asked.ts'
import { CommandFailed } from '../failure.ts'
import { say } from '../terminal.ts'
import { addWorkerRunCommands } from './worker-command.ts'

/** Set by the bundler. */
declare const REEVE_VERSION: string

const sha256 = createHash('sha256')
  .update(readFileSync(fileURLToPath(import.meta.url)))
  .digest('hex')

const worker = new Command('worker.mjs')
  .description('A worker of a Reeve pool: keygen, register, run.')
  .version(`${REEVE_VERSION} sha256 ${sha256}`)
  .exitOverride()
addWorkerRunCommands(worker)

try {
  await worker.parseAsync()
} catch (error) {
  process.exitCode = explain(error)
}
process.exit()

function explain(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
  if (error instanceof CommandFailed) {
    say(error.message)
    return error.exitCode
  }
  const server = askedServer()
  say(
    server !== null && error instanceof TypeError
      ? `${server} gave an answer that is not understood: is it a Reeve of this version?`
      : String(error),
  )
  return 1
}
