// A worker of the pool on this machine. It needs no database, only the server's address and its owner's credentials.
import { readFileSync } from 'node:fs'
import { ReeveClient } from '@reeve/sdk'
import { runWorker, type Handler, type WorkerEvent } from '@reeve/sdk/pool'
import type { Command } from 'commander'
import { environment } from '../../core/config.ts'
import { checkedFetch } from '../access/checked-fetch.ts'
import { findLogin } from '../access/logins.ts'
import { explained, serverUrl } from '../access/server-url.ts'
import { positiveInteger } from '../arguments.ts'
import { CommandFailed } from '../failure.ts'
import { isTerminal, plain, print, printJson, say, styled } from '../terminal.ts'
import { execHandler, moduleHandler } from './worker-handlers.ts'
import type { PoolJudge } from './worker-judge.ts'
import { readKey, writeKey } from './worker-key.ts'

const KEY_FILE = 'worker.key'
const LOCAL = 'http://127.0.0.1:8080'
const PROBLEMS = 'with --judge: a folder of problem packages, as zips or folders'
const SAME_SIGNAL_MS = 1000 // a runner passes on the Ctrl-C that the terminal has sent already

interface Access {
  url?: string
  apiKeyFile?: string
  username?: string
  passwordFile?: string
}

/** Undefined: this program has no judge in it. */
export type OpenJudge = (problems: string) => Promise<PoolJudge>

/** To `reeve worker`, and to the one file that a worker's machine needs. */
export function addWorkerRunCommands(worker: Command, openPoolJudge?: OpenJudge): void {
  const command = (name: string, about: string) =>
    worker
      .command(name)
      .description(about)
      .option('--key <file>', 'the file with the worker’s key', KEY_FILE)
      .option(
        '--url <url>',
        `the server; default: the one of the last reeve login, where its key is used, else ${LOCAL}`,
      )
      .option(
        '--api-key-file <file>',
        'a file with an API key of the owner; default: WORKER_API_KEY, or the key stored by reeve login',
      )
      .option('--username <name>', 'the owner’s account, instead of an API key')
      .option('--password-file <file>', 'a file with the owner’s password')

  worker
    .command('keygen')
    .description('create a worker’s key, in a file that only you can read')
    .option('--key <file>', 'the file to write', KEY_FILE)
    .option('--json', 'print JSON')
    .action(keygen)

  command('register', 'register a worker with its key, and print its id')
    .requiredOption('--name <name>', 'a name that no other worker has')
    .option('--region <region>', 'the region that it is in')
    .option('--specs <json>', 'its specifications, as a JSON object')
    .option('--judge', 'add the languages and packages that it can judge to its specifications')
    .option('--problems <folder>', PROBLEMS)
    .option('--json', 'print JSON')
    .action((options: RegisterOptions) => register(options, openPoolJudge))

  command('run', 'poll for jobs, run them and submit signed results; on SIGTERM, finish the current job first')
    .requiredOption('--worker <id>', 'the id that register printed', positiveInteger)
    .option('--exec <command>', 'a shell command that reads the job from standard input and prints a JSON object')
    .option('--module <file>', 'a JavaScript module that exports handle(job, context)')
    .option('--judge', 'judge submissions in the sandbox')
    .option('--problems <folder>', PROBLEMS)
    .option('--wait <seconds>', 'how long a poll waits for a job, at most 50', positiveInteger, 50)
    .option('--json', 'print a line of JSON for each event')
    .action((options: RunOptions) => run(options, openPoolJudge))
}

function keygen({ key, json }: { key: string; json?: boolean }): void {
  const { x } = writeKey(key)
  if (json === true) return printJson({ key_file: key, public_key: x })
  say(`The private key is in ${plain(key)}: whoever has it can sign as this worker. Its public key:`)
  print(x)
}

interface RegisterOptions extends Access {
  key: string
  name: string
  region?: string
  specs?: string
  judge?: boolean
  problems?: string
  json?: boolean
}

async function register(options: RegisterOptions, openPoolJudge?: OpenJudge): Promise<void> {
  const { key, name, region, json, ...access } = options
  const { x } = readKey(key)
  const specs = await specsFor(options, openPoolJudge)
  const url = addressOf(access)
  const client = await explained(url, () => clientFor(url, access))
  const made = await explained(
    url,
    () =>
      client.pool.register({
        name,
        public_key: x,
        ...(region === undefined ? {} : { region }),
        ...(specs === null ? {} : { specs_json: specs }),
      }),
    { reeve: client, door: 'pool' },
  )
  if (json === true) printJson(made)
  else print(String(made.id))
}

async function specsFor(
  { specs, judge, problems }: RegisterOptions,
  openPoolJudge?: OpenJudge,
): Promise<Record<string, unknown> | null> {
  const said = specs === undefined ? null : parseSpecs(specs)
  if (judge !== true) return said
  const opened = await openJudge(problems, openPoolJudge)
  await opened.close()
  return { ...said, ...opened.specs }
}

function parseSpecs(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // said below
  }
  throw new CommandFailed('--specs is not a JSON object.', 2)
}

interface RunOptions extends Access {
  key: string
  worker: number
  exec?: string
  module?: string
  judge?: boolean
  problems?: string
  wait: number
  json?: boolean
}

async function run(options: RunOptions, openPoolJudge?: OpenJudge): Promise<void> {
  const { key, worker, wait, json, ...access } = options
  const url = addressOf(access)
  const login = () => clientFor(url, access)
  const { handler, close } = await executorFor(options, openPoolJudge)
  const { drain, abandon } = askedToStop()
  try {
    const client = await explained(url, login)
    await explained(
      url,
      async () =>
        runWorker({
          client,
          ...(access.username === undefined ? {} : { login }),
          workerId: worker,
          key: readKey(key),
          handler,
          signal: drain,
          abandon,
          waitSec: Math.min(50, wait),
          onEvent: json === true ? (event) => printJson(event) : showEvent,
        }),
      { reeve: client, door: 'pool' },
    )
  } finally {
    await close()
  }
  if (json !== true) say('Stopped.')
}

interface PoolExecutor {
  handler: Handler
  close(): Promise<void>
}

async function executorFor(
  { exec, module, judge, problems, json }: RunOptions,
  openPoolJudge?: OpenJudge,
): Promise<PoolExecutor> {
  const chosen = [exec, module, judge === true ? 'judge' : undefined].filter((one) => one !== undefined)
  if (chosen.length !== 1) throw new CommandFailed('Say how to run jobs, with one of --exec, --module and --judge.', 2)
  const close = async () => {}
  if (exec !== undefined) return { handler: execHandler(exec), close }
  if (module !== undefined) return { handler: await moduleHandler(module), close }
  const opened = await openJudge(problems, openPoolJudge)
  const { languages, packages } = opened.specs.judge
  if (json !== true) say(`Judging ${languages.join(', ')} with ${packages.length} problem package(s).`)
  return opened
}

async function openJudge(problems: string | undefined, openPoolJudge?: OpenJudge): Promise<PoolJudge> {
  if (openPoolJudge === undefined) throw new CommandFailed('--judge needs an installed Reeve: reeve worker.', 2)
  if (problems === undefined) throw new CommandFailed('--judge needs --problems: a folder of problem packages.', 2)
  return openPoolJudge(problems)
}

/** A stored key goes to its own server, every other credential to the one that is named. */
function addressOf({ url, apiKeyFile, username }: Access): string {
  if (url !== undefined) return serverUrl(url)
  const isGiven = [apiKeyFile, username, environment()['WORKER_API_KEY']].some((one) => one !== undefined)
  return (isGiven ? undefined : findLogin(null)?.url) ?? LOCAL
}

async function clientFor(url: string, { apiKeyFile, username, passwordFile }: Access): Promise<ReeveClient> {
  if (username !== undefined) {
    if (passwordFile === undefined) throw new CommandFailed('--username needs --password-file.', 2)
    return ReeveClient.login({ url, username, password: firstLine(passwordFile), fetch: checkedFetch })
  }
  const given = apiKeyFile === undefined ? environment()['WORKER_API_KEY'] : firstLine(apiKeyFile)
  const apiKey = given ?? findLogin(serverUrl(url))?.api_key
  if (apiKey === undefined || apiKey === '') {
    throw new CommandFailed(
      'Say whose worker it is: --api-key-file, WORKER_API_KEY, reeve login, or --username with --password-file.',
      2,
    )
  }
  return new ReeveClient({ url, apiKey, fetch: checkedFetch })
}

function firstLine(file: string): string {
  try {
    return readFileSync(file, 'utf8').split(/\r?\n/)[0] ?? ''
  } catch {
    throw new CommandFailed(`Cannot read ${plain(file)}.`)
  }
}

/** The first signal drains; another one, later, drops the job in hand. */
function askedToStop(): { drain: AbortSignal; abandon: AbortSignal } {
  const [drain, abandon] = [new AbortController(), new AbortController()]
  let first: number | null = null
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (first !== null && performance.now() - first > SAME_SIGNAL_MS) abandon.abort()
      first ??= performance.now()
      drain.abort()
    })
  }
  return { drain: drain.signal, abandon: abandon.signal }
}

function showEvent(event: WorkerEvent): void {
  switch (event.type) {
    case 'polling':
      if (isTerminal) say(styled('gray', 'waiting for a job'))
      return
    case 'assigned':
      return say(`${event.assignmentId}  ${styled('cyan', 'assigned')}`)
    case 'submitted':
      return say(`${event.assignmentId}  ${styled('green', event.status)} after ${(event.ms / 1000).toFixed(1)} s`)
    case 'refused':
      return say(`${event.assignmentId}  ${styled('red', 'refused')}: ${plain(event.message)}`)
    case 'cancelled':
      return say(`${event.assignmentId}  ${styled('yellow', 'cancelled')}`)
    case 'trouble':
      return say(styled('yellow', plain(event.message)))
  }
}
