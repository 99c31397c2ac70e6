#!/usr/bin/env -S node --max-semi-space-size=64
// The `reeve` command. Exit codes: 0 success, 1 failure, 2 wrong usage.
import { Command, CommanderError } from 'commander'
import { StartError } from '../core/start-error.ts'
import { VERSION } from '../core/version.ts'
import { askedServer } from './access/asked.ts'
import { CommandFailed } from './failure.ts'
import { say, styled } from './terminal.ts'

/** Commands with subcommands. Only the requested one is loaded: together they would import the whole server. */
const GROUPS: Readonly<Record<string, () => Promise<(reeve: Command) => void>>> = {
  login: async () => (await import('./server/login-command.ts')).addLoginCommand,
  logout: async () => (await import('./server/login-command.ts')).addLogoutCommand,
  user: async () => (await import('./server/user-command.ts')).addUserCommands,
  job: async () => (await import('./job-command.ts')).addJobCommands,
  submit: async () => (await import('./judge/submit-command.ts')).addSubmitCommand,
  problem: async () => (await import('./judge/problem-command.ts')).addProblemCommands,
  delivery: async () => (await import('./delivery-command.ts')).addDeliveryCommands,
  challenge: async () => (await import('./challenge-command.ts')).addChallengeCommands,
  desk: async () => (await import('./desk-command.ts')).addDeskCommands,
  verify: async () => (await import('./verify/verify-command.ts')).addVerifyCommand,
  play: async () => (await import('./arena/play-command.ts')).addPlayCommand,
  worker: async () => (await import('./pool/worker-group.ts')).addWorkerCommands,
}

async function program(asked: string | undefined): Promise<Command> {
  const reeve = new Command('reeve')
    .description('Hands out work and accepts each result exactly once, whoever does the work.')
    .version(VERSION)
    .exitOverride()
    .showHelpAfterError('(reeve --help lists the commands)')
    .addHelpText('after', '\nSettings are environment variables. `reeve config` prints all of them with their values.')

  const server = (role: 'up' | 'serve' | 'work', about: string) =>
    reeve
      .command(role)
      .description(about)
      .action(async () => {
        process.exitCode = await (await import('./server/server-command.ts')).runServer(role)
      })
  server('up', 'run everything in one process: HTTP, executors, and the embedded database unless DATABASE_URL is set')
  server('serve', 'run only HTTP and WebSocket (needs DATABASE_URL)')
  server('work', 'run only executors and background loops (needs DATABASE_URL)')

  const plain = (name: string, about: string) => reeve.command(name).description(about).option('--json', 'print JSON')
  plain('migrate', 'apply pending migrations to the database')
    .option('--plan', 'only list the pending migrations and the tables that they lock; change nothing')
    .action(async (options) => (await import('./server/migrate-command.ts')).migrateCommand(options))
  const asking = (name: string, about: string) =>
    plain(name, about)
      .option('--url <url>', 'the server to ask; default: this machine')
      .option(
        '--api-key-file <file>',
        'with --url: a file with an API key of an admin; default: the key stored by reeve login',
      )
  asking('config', 'print the settings in force, with secrets masked').action(async (options) =>
    (await import('./server/config-command.ts')).showConfig(options),
  )
  asking('doctor', 'check that everything a server needs is there and works').action(async (options) =>
    (await import('./server/doctor-command.ts')).runDoctor(options),
  )

  reeve
    .command('backup')
    .description('write the database, files and keys to one file, while the server runs')
    .argument('<file>')
    .option('--force', 'replace the file if it exists')
    .option('--verify', 'afterwards restore it into a temporary place and compare')
    .option('--json', 'print JSON')
    .action(async (file, options) => (await import('./server/backup-command.ts')).backupCommand(file, options))
  reeve
    .command('restore')
    .description('restore a backup into an empty database and data folder')
    .argument('<file>')
    .option('--verify', 'only restore it into a temporary place and compare; change nothing')
    .option('--json', 'print JSON')
    .action(async (file, options) => (await import('./server/backup-command.ts')).restoreCommand(file, options))
  reeve
    .command('move')
    .description('copy the embedded database to an empty database of another PostgreSQL server (stop Reeve first)')
    .argument('<database_url>')
    .option('--json', 'print JSON')
    .action(async (url, options) => (await import('./server/backup-command.ts')).moveCommand(url, options))

  const isThere = reeve.commands.some((command) => command.name() === asked)
  const group = asked !== undefined && Object.hasOwn(GROUPS, asked) ? GROUPS[asked] : undefined
  const groups = group === undefined ? Object.values(GROUPS) : [group]
  if (!isThere) for (const load of groups) (await load())(reeve)
  return reeve
}

try {
  await (await program(process.argv[2])).parseAsync()
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
  if (isOfSystem(error)) return tell(message, 1)
  const server = askedServer()
  if (server !== null && error instanceof TypeError) {
    return tell(`${server} gave an answer that is not understood: is it a Reeve of this version?`, 1)
  }
  return tell(error instanceof StartError || !(error instanceof Error) ? message : (error.stack ?? message), 1)
}

/** A file, a socket, a full disk: its message says all. */
function isOfSystem(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && 'code' in error
}

function tell(message: string, exitCode: number): number {
  say(styled('red', message))
  return exitCode
}
