// `reeve challenge`: the requests of an account with the role CHALLENGER, and the dead letters of the door.
import type { Delivery, NewChallenge } from '@reeve/sdk'
import type { Command } from 'commander'
import { isObject } from '../core/values/is-object.ts'
import { addRemoteOptions, withClient, type RemoteOptions } from './access/client.ts'
import { positiveInteger } from './arguments.ts'
import { CommandFailed } from './failure.ts'
import { inputName, readJson } from './read-input.ts'
import { plain, print, printJson, printTable, say } from './terminal.ts'

const LIMIT_MAX = 200
const OF_ACCOUNT = { owns: true, door: 'challenge' } as const
const OF_DOOR = { door: 'challenge' } as const

export function addChallengeCommands(program: Command): void {
  const challenge = program
    .command('challenge')
    .description('create, send and list challenges, and send dead letters again')
  const command = (name: string, about: string) => addRemoteOptions(challenge.command(name).description(about))

  command('create', 'create a challenge from the JSON body of POST /challenges')
    .argument('<file>', 'a file, or - for standard input')
    .action(create)
  command('send', 'send a challenge to a Solver')
    .argument('<challenge_id>')
    .option('--solver-url <url>', 'default: SOLVER_URL of the server')
    .action(send)
  command('show', 'show a challenge with its results and deliveries').argument('<challenge_id>').action(show)
  command('list', 'list the newest challenges')
    .option('--limit <n>', 'maximum number', positiveInteger, 20)
    .action(list)
  command('dead', 'list the newest dead letters of the door (admins only)')
    .option('--limit <n>', 'maximum number', positiveInteger, 20)
    .action(dead)
  command('replay', 'send dead letters again (admins only)')
    .argument('[delivery_id]', 'the number of the delivery; default: all dead letters', positiveInteger)
    .action(replay)
}

async function create(file: string, options: RemoteOptions): Promise<void> {
  const body = readJson(file)
  if (!isChallenge(body))
    throw new CommandFailed(`${inputName(file)} is not the body of a challenge: it has no "problem".`, 2)
  const made = await withClient(options, (reeve) => reeve.challenges.create(body), OF_ACCOUNT)
  if (options.json === true) printJson(made)
  else print(plain(made.challenge_id))
}

/** The server checks the rest. */
const isChallenge = (body: unknown): body is NewChallenge => isObject(body) && 'problem' in body

async function send(challengeId: string, options: RemoteOptions & { solverUrl?: string }): Promise<void> {
  const body = options.solverUrl === undefined ? {} : { solver_url: options.solverUrl }
  const path = `/challenges/${encodeURIComponent(challengeId)}/send`
  const sent = await withClient(options, (reeve) => reeve.request<object>('POST', path, { body }), OF_ACCOUNT)
  if (options.json === true) return printJson(sent)
  const as = options.as === undefined ? '' : ` --as ${plain(options.as)}`
  print(`Sending. See: reeve challenge show ${plain(challengeId)}${as}`)
}

async function show(challengeId: string, options: RemoteOptions): Promise<void> {
  printJson(await withClient(options, (reeve) => reeve.challenges.get(challengeId), OF_ACCOUNT))
}

async function list(options: RemoteOptions & { limit: number }): Promise<void> {
  const limit = Math.min(options.limit, LIMIT_MAX)
  const { challenges } = await withClient(options, (reeve) => reeve.challenges.list({ limit }), OF_ACCOUNT)
  if (options.json === true) return printJson(challenges)
  if (challenges.length === 0) return say('No challenges.')
  printTable(
    ['CHALLENGE', 'STATE', 'CREATED', 'SOLVER JOB'],
    challenges.map((one) => [one.challenge_id, one.state, one.created_at, one.solver_job_id ?? ''].map(plain)),
  )
}

async function dead(options: RemoteOptions & { limit: number }): Promise<void> {
  const query = { status: 'dead', limit: Math.min(options.limit, LIMIT_MAX) }
  type Page = { deliveries: Delivery[] }
  const { deliveries } = await withClient(
    options,
    (reeve) => reeve.request<Page>('GET', '/challenges/deliveries', { query }),
    OF_DOOR,
  )
  if (options.json === true) return printJson(deliveries)
  if (deliveries.length === 0) return say('No dead letters.')
  printTable(
    ['DELIVERY', 'TOPIC', 'ATTEMPTS', 'ERROR', 'CREATED'],
    deliveries.map((one) =>
      [one.delivery_id, one.topic, one.attempts, one.last_error ?? '', one.created_at].map(String).map(plain),
    ),
  )
}

async function replay(letterId: number | undefined, options: RemoteOptions): Promise<void> {
  const path = `/challenges/deliveries/${letterId === undefined ? '' : `${letterId}/`}replay`
  type Answer = { replayed: number[] }
  const { replayed } = await withClient(options, (reeve) => reeve.request<Answer>('POST', path), OF_DOOR)
  if (options.json === true) printJson({ replayed })
  else print(`${replayed.length} replayed.`)
}
