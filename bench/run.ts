// `npm run bench -- <suite> [options]`: picks the suite and sees to it that nothing it started outlives it.

import { arenaSuite } from './arena/suite.ts'
import { challengeSuite } from './challenge/suite.ts'
import { consoleSuite } from './console/suite.ts'
import { deskSuite } from './desk/suite.ts'
import { eventLoopSuite } from './event-loop/suite.ts'
import { judgeSuite } from './judge/suite.ts'
import { ledgerSuite } from './ledger/suite.ts'
import { poolSuite } from './pool/suite.ts'
import { processSuite } from './process/suite.ts'
import { requestsSuite } from './requests/suite.ts'
import type { Suite } from './suite.ts'
import { createTeardown } from './teardown.ts'

const SUITES: readonly Suite[] = [
  ledgerSuite,
  judgeSuite,
  challengeSuite,
  poolSuite,
  deskSuite,
  consoleSuite,
  arenaSuite,
  processSuite,
  requestsSuite,
  eventLoopSuite,
]

await main(process.argv.slice(2))

async function main([name, ...args]: string[]): Promise<void> {
  if (name === undefined || name === '--help' || name === '-h') {
    console.log(usage())
    return
  }
  const suite = SUITES.find((suite) => suite.name === name)
  if (suite === undefined) {
    console.error(`No suite is named "${name}".\n\n${usage()}`)
    process.exitCode = 2
    return
  }
  if (args.includes('--help') || args.includes('-h')) {
    console.log(`${suite.name}: ${suite.summary}\n\n${suite.options}`)
    return
  }
  await runSuite(suite, args)
}

/**
 * A signal, or an error that a library lets escape, wins the race against the suite: what it started is stopped and the
 * process ends, whatever was awaited. Errors after that only tell that the servers are gone.
 */
async function runSuite(suite: Suite, args: string[]): Promise<void> {
  const teardown = createTeardown()
  const exitCode = await new Promise<number>((resolve) => {
    let over = false
    const end = (code: number, error?: unknown): void => {
      if (error !== undefined && !over) console.error(error instanceof Error ? (error.stack ?? error.message) : error)
      over = true
      resolve(code)
    }
    process.on('SIGINT', () => end(130))
    process.on('SIGTERM', () => end(143))
    process.on('uncaughtException', (error) => end(1, error))
    suite.run(args, teardown).then(
      () => end(0),
      (error: unknown) => end(1, error),
    )
  })
  await teardown.runAll()
  process.exit(exitCode)
}

function usage(): string {
  const suites = SUITES.map((suite) => `  ${suite.name.padEnd(12)}${suite.summary}`).join('\n')
  const options = SUITES.map((suite) => `Options of ${suite.name}:\n${suite.options}`).join('\n\n')
  return `Usage: npm run bench -- <suite> [options]\n\nSuites:\n${suites}\n\n${options}`
}
