// `reeve challenge`: the requests of an account with the role CHALLENGER, over HTTP, to the running server. Who can write to
// the database may act for any account: the command issues a token for a minute, and revokes it.
import { readFileSync } from 'node:fs'
import { ReeveClient, ReeveError } from '@reeve/sdk'
import type { Command } from 'commander'
import { issueToken, revokeToken } from '../core/identity/tokens.ts'
import { positiveInteger } from './arguments.ts'
import { CommandFailed } from './failure.ts'
import { plain, print, printJson, printTable, say } from './terminal.ts'
import { withEngine } from './with-engine.ts'

const TOKEN_SEC = 60

interface Common {
  as: string
  url?: string
  json?: boolean
}

interface ChallengeBrief {
  challenge_id: string
  state: string
  created_at: string
  solver_job_id: string | null
}

export function addChallengeCommands(program: Command): void {
  const challenge = program.command('challenge').description('create, send and show challenges')
  const command = (name: string, about: string) =>
    challenge
      .command(name)
      .description(about)
      .requiredOption('--as <username>', 'the account that owns the challenge')
      .option('--url <url>', 'URL of the server; default: SERVER_HOST and SERVER_PORT')
      .option('--json', 'print JSON')

  command('create', 'create a challenge from the JSON body of POST /challenges')
    .argument('<file>', 'a file, or - for standard input')
    .action(create)
  command('send', 'send a challenge to a Solver')
    .argument('<challenge_id>')
    .option('--solver-url <url>', 'default: SOLVER_URL of the server')
    .action(send)
  command('show', 'one challenge with its results and deliveries').argument('<challenge_id>').action(show)
  command('list', 'the newest challenges').option('--limit <n>', 'maximum number', positiveInteger, 20).action(list)
  command('replay', 'send dead letters again, one by its id or all (needs an admin)')
    .argument('[delivery_id]', 'default: all', positiveInteger)
    .action(replay)
}

async function create(file: string, options: Common): Promise<void> {
  const body = parseFile(file)
  const made = await ask<ChallengeBrief>(options, (reeve) => reeve.request('POST', '/challenges', { body }))
  if (options.json === true) printJson(made)
  else print(plain(made.challenge_id))
}

async function send(challengeId: string, options: Common & { solverUrl?: string }): Promise<void> {
  const body = options.solverUrl === undefined ? {} : { solver_url: options.solverUrl }
  const sent = await ask<object>(options, (reeve) => reeve.request('POST', `${pathOf(challengeId)}/send`, { body }))
  if (options.json === true) printJson(sent)
  else print(`Sending. See: reeve challenge show ${plain(challengeId)} --as ${plain(options.as)}`)
}

async function show(challengeId: string, options: Common): Promise<void> {
  printJson(await ask<object>(options, (reeve) => reeve.request('GET', pathOf(challengeId))))
}

async function list(options: Common & { limit: number }): Promise<void> {
  const { challenges } = await ask<{ challenges: ChallengeBrief[] }>(options, (reeve) =>
    reeve.request('GET', '/challenges', { query: { limit: Math.min(options.limit, 200) } }),
  )
  if (options.json === true) return printJson(challenges)
  if (challenges.length === 0) return say('No challenges.')
  printTable(
    ['CHALLENGE', 'STATE', 'CREATED', 'SOLVER JOB'],
    challenges.map((one) => [one.challenge_id, one.state, one.created_at, one.solver_job_id ?? ''].map(plain)),
  )
}

async function replay(letterId: number | undefined, options: Common): Promise<void> {
  const path = `/challenges/deliveries/${letterId === undefined ? '' : `${letterId}/`}replay`
  const { replayed } = await ask<{ replayed: number[] }>(options, (reeve) => reeve.request('POST', path))
  if (options.json === true) printJson(replayed)
  else print(`${replayed.length} replayed.`)
}

const pathOf = (challengeId: string): string => `/challenges/${encodeURIComponent(challengeId)}`

function parseFile(file: string): unknown {
  const text = readFileSync(file === '-' ? 0 : file, 'utf8')
  try {
    return JSON.parse(text)
  } catch {
    throw new CommandFailed(`${plain(file)} is not JSON.`, 2)
  }
}

function ask<T>(options: Common, request: (reeve: ReeveClient) => Promise<T>): Promise<T> {
  return withEngine(async ({ config, database, identity }) => {
    const account = await identity.findAccount(options.as)
    if (account === null) throw new CommandFailed(`There is no account ${plain(options.as)}.`)
    const { token } = await issueToken(database, account.accountId, TOKEN_SEC)
    const url = options.url ?? `http://${config.SERVER_HOST.replace('0.0.0.0', '127.0.0.1')}:${config.SERVER_PORT}`
    try {
      return await request(new ReeveClient({ url, token }))
    } catch (error) {
      if (error instanceof ReeveError) throw new CommandFailed(plain(error.message))
      throw new CommandFailed(`No answer from ${url}: is the server running?`)
    } finally {
      await revokeToken(database, token)
    }
  })
}
