#!/usr/bin/env -S node --max-semi-space-size=64
// The `reeve` command. Exit codes: 0 done, 1 could not be done, 2 asked wrongly.
import { Command, CommanderError } from 'commander'
import { StartError } from '../core/start-error.ts'
import { VERSION } from '../core/version.ts'
import { addChallengeCommands } from './challenge-command.ts'
import { showConfig } from './config-command.ts'
import { addDeskCommands } from './desk-command.ts'
import { runDoctor } from './doctor-command.ts'
import { CommandFailed } from './failure.ts'
import { addJobCommands } from './job-command.ts'
import { migrateCommand } from './migrate-command.ts'
import { addPlayCommand } from './play-command.ts'
import { addProblemCommands } from './problem-command.ts'
import { runServer } from './server-command.ts'
import { addSubmitCommand } from './submit-command.ts'
import { say, styled } from './terminal.ts'
import { addUserCommands } from './user-command.ts'
import { addVerifyCommand } from './verify-command.ts'
import { addWorkerCommands } from './worker-command.ts'

function program(): Command {
  const reeve = new Command('reeve')
    .description('Hands out work and accepts each result exactly once, whoever does the work.')
    .version(VERSION)
    .exitOverride()
    .showHelpAfterError('(reeve --help lists the commands)')
    .addHelpText('after', '\nSettings are environment variables: `reeve config` lists them with what is in force.')

  const server = (role: 'up' | 'serve' | 'work', about: string) =>
    reeve
      .command(role)
      .description(about)
      .action(async () => {
        process.exitCode = await runServer(role)
      })
  server('up', 'everything in one process: HTTP, work, and the embedded database unless DATABASE_URL is set')
  server('serve', 'only HTTP and WebSocket (needs DATABASE_URL)')
  server('work', 'only the hands and loops (needs DATABASE_URL)')

  reeve
    .command('migrate')
    .description('bring the database up to date')
    .option('--json', 'for programs')
    .action(migrateCommand)
  reeve
    .command('config')
    .description('the settings in force, secrets masked')
    .option('--json', 'for programs')
    .action(showConfig)
  reeve.command('doctor').description('check what a server needs').option('--json', 'for programs').action(runDoctor)
  addUserCommands(reeve)
  addJobCommands(reeve)
  addSubmitCommand(reeve)
  addProblemCommands(reeve)
  addChallengeCommands(reeve)
  addDeskCommands(reeve)
  addVerifyCommand(reeve)
  addPlayCommand(reeve)
  addWorkerCommands(reeve)
  return reeve
}

try {
  await program().parseAsync()
} catch (error) {
  process.exitCode = explain(error)
}
// A server that has stopped has nothing left to do, and a command nothing left to wait for: an idle timer of a library
// must not keep the process.
process.exit()

function explain(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2 // it has said why
  const message = error instanceof Error ? error.message : String(error)
  if (error instanceof CommandFailed) return tell(message, error.exitCode)
  return tell(error instanceof StartError || !(error instanceof Error) ? message : (error.stack ?? message), 1)
}

function tell(message: string, exitCode: number): number {
  say(styled('red', message))
  return exitCode
}
