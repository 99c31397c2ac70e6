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
import { explained, serverUrl } from './server-url.ts'
import { checkedFetch } from './checked-fetch.ts'

export interface ClientOptions {
  as?: string
  url?: string
  apiKeyFile?: string
}

const addClientOptions = (command: Command): Command =>
  command
    .option('--url <url>', 'the server; default: the deployment here, else the server of the last reeve login')
    .option('--api-key-file <file>', 'with --url: a file with an API key; default: what reeve login has stored')
    .option('--as <username>', 'where the database is here: the account to speak for; default: this command line')

/** What every command has that asks a server. */
export const addRemoteOptions = (command: Command): Command =>
  addClientOptions(command).option('--json', 'print JSON, with the names of the HTTP API')

export interface RemoteOptions extends ClientOptions {
  json?: boolean
}

export interface ClientUse {
  /** What it makes belongs to an account, without --as the admin's, and depends on the settings of the server that runs: it is asked. */
  owns?: boolean
}

export async function withClient<T>(
  options: ClientOptions,
  use: (reeve: ReeveClient) => Promise<T>,
  { owns = false }: ClientUse = {},
): Promise<T> {
  const remote = await remoteOf(options)
  if (remote !== null) return explained(remote.url, () => use(new ReeveClient({ ...remote, fetch: checkedFetch })))

  const { core: config } = parseConfig(environment(), doorSettings())
  if (options.url !== undefined || owns) return askAsAccount(urlOf(options), options.as ?? nameOfAdmin(config), use)
  const { withLocalServer } = await import('./local-server.ts')
  return withLocalServer(options.as ?? null, ({ url, token, fetch }) =>
    explained(url, () => use(new ReeveClient({ url, token, fetch }))),
  )
}

/** The URL, and what a stranger may ask it: for commands with credentials of their own. */
export function urlOf({ url }: Pick<ClientOptions, 'url'>): string {
  if (url !== undefined) return serverUrl(url)
  const { core } = parseConfig(environment(), doorSettings())
  return `http://${core.SERVER_HOST.replace('0.0.0.0', '127.0.0.1')}:${core.SERVER_PORT}`
}

type Remote = { url: string; apiKey: string }

async function remoteOf({ url, apiKeyFile, as }: ClientOptions): Promise<Remote | null> {
  if (apiKeyFile !== undefined) {
    if (as !== undefined) throw new CommandFailed('--as and --api-key-file exclude each other.', 2)
    return { url: urlOf(url === undefined ? {} : { url }), apiKey: keyIn(apiKeyFile) }
  }
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
async function askAsAccount<T>(url: string, username: string, use: (reeve: ReeveClient) => Promise<T>): Promise<T> {
  const { tokenFor, withEngine } = await import('./with-engine.ts')
  return withEngine(async ({ database, identity }) => {
    const token = await tokenFor(username, { database, identity })
    try {
      return await explained(url, () => use(new ReeveClient({ url: serverUrl(url), token, fetch: checkedFetch })))
    } finally {
      await revokeToken(database, token)
    }
  })
}

const nameOfAdmin = ({ REEVE_ADMIN_USERNAME }: Config): string => REEVE_ADMIN_USERNAME || 'admin'
