// Which server a command asks, and as whom. With --url it is that server; with a key file or a stored login no database is needed.
// Without --url it is the deployment whose database is here: the command opens the server's routes in its own process, so that
// no server has to run. Where there is neither, it is the server of the last `reeve login`.
import { readFileSync } from 'node:fs'
import { ReeveClient } from '@reeve/sdk'
import type { Command } from 'commander'
import { databaseUrl, environment, parseConfig, type Config } from '../../core/config.ts'
import { hasCluster } from '../../core/embedded/cluster.ts'
import { revokeToken } from '../../core/identity/tokens.ts'
import { doorSettings } from '../../doors/outline.ts'
import { CommandFailed } from '../failure.ts'
import { plain } from '../terminal.ts'
import { findLogin, type StoredLogin } from './logins.ts'
import { explained, serverUrl, type DoorName } from './server-url.ts'
import { checkedFetch } from './checked-fetch.ts'

export interface ClientOptions {
  as?: string
  url?: string
  apiKeyFile?: string
}

const addClientOptions = (command: Command): Command =>
  command
    .option(
      '--url <url>',
      'the server; default: the deployment on this machine, else the server of the last reeve login',
    )
    .option('--api-key-file <file>', 'with --url: a file with an API key; default: the key stored by reeve login')
    .option('--as <username>', 'act as this account (only where the database is on this machine)')

/** What every command has that asks a server. */
export const addRemoteOptions = (command: Command): Command =>
  addClientOptions(command).option('--json', 'print JSON, with the field names of the HTTP API')

export interface RemoteOptions extends ClientOptions {
  json?: boolean
}

export interface ClientUse {
  /** What it makes belongs to an account, without --as the admin's, and depends on the settings of the server that runs: it is asked. */
  owns?: boolean
  /** Default: it asks no door. */
  door?: DoorName
}

export async function withClient<T>(
  options: ClientOptions,
  use: (reeve: ReeveClient) => Promise<T>,
  { owns = false, door }: ClientUse = {},
): Promise<T> {
  const ask = (access: SpokenTo) => {
    const reeve = new ReeveClient(access)
    return explained(access.url, () => use(reeve), door && { reeve, door })
  }
  const remote = await remoteOf(options)
  if (remote !== null) return ask({ ...remote, fetch: checkedFetch })

  const { core: config } = parseConfig(environment(), doorSettings())
  if (options.url !== undefined || owns) return askAsAccount(urlOf(options), options.as ?? nameOfAdmin(config), ask)
  const { withLocalServer } = await import('./local-server.ts')
  return withLocalServer(options.as ?? null, ask)
}

/** The URL, and what a stranger may ask it: for commands with credentials of their own. */
export function urlOf({ url }: Pick<ClientOptions, 'url'>): string {
  if (url !== undefined) return serverUrl(url)
  const { core } = parseConfig(environment(), doorSettings())
  return `http://${core.SERVER_HOST.replace('0.0.0.0', '127.0.0.1')}:${core.SERVER_PORT}`
}

/** Null: no file is named. */
export function apiKeyOf({ apiKeyFile, as }: Pick<ClientOptions, 'apiKeyFile' | 'as'>): string | null {
  if (apiKeyFile === undefined) return null
  if (as !== undefined) throw new CommandFailed('--as and --api-key-file exclude each other.', 2)
  return keyIn(apiKeyFile)
}

type SpokenTo = ConstructorParameters<typeof ReeveClient>[0]
type Remote = { url: string; apiKey: string }

async function remoteOf(options: ClientOptions): Promise<Remote | null> {
  const { url, as } = options
  const apiKey = apiKeyOf(options)
  if (apiKey !== null) return { url: urlOf(options), apiKey }
  if (as !== undefined) return null
  if (url !== undefined) return remoteFrom(findLogin(serverUrl(url)))
  return (await hasDatabase()) ? null : remoteFrom(findLogin(null))
}

const remoteFrom = (login: StoredLogin | null): Remote | null =>
  login === null ? null : { url: login.url, apiKey: login.api_key }

async function hasDatabase(): Promise<boolean> {
  const { core } = parseConfig(environment(), doorSettings())
  return databaseUrl(core) !== null || hasCluster(core.REEVE_DATA_DIR)
}

function keyIn(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    throw new CommandFailed(`Cannot read the key file ${plain(file)}.`)
  }
}

/** Whoever can write to the database may speak for any account: a token is made, and revoked. */
async function askAsAccount<T>(url: string, username: string, ask: (access: SpokenTo) => Promise<T>): Promise<T> {
  const { tokenFor, withEngine } = await import('./with-engine.ts')
  return withEngine(async ({ database, identity }) => {
    const token = await tokenFor(username, { database, identity })
    try {
      return await ask({ url: serverUrl(url), token, fetch: checkedFetch })
    } finally {
      await revokeToken(database, token)
    }
  })
}

const nameOfAdmin = ({ REEVE_ADMIN_USERNAME }: Config): string => REEVE_ADMIN_USERNAME || 'admin'
