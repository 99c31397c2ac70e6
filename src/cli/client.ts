// Who a command speaks for. Whoever can read the database may speak for any account: a token of some minutes is made for it,
// and given back. From another machine, an API key does.
import { readFileSync } from 'node:fs'
import { ReeveClient, ReeveError } from '@reeve/sdk'
import type { Command } from 'commander'
import { environment, parseConfig, type Config } from '../core/config.ts'
import { issueToken, revokeToken } from '../core/identity/tokens.ts'
import { doorSettings } from '../doors/outline.ts'
import { CommandFailed } from './failure.ts'
import { plain } from './terminal.ts'
import { withEngine } from './with-engine.ts'

const TOKEN_SEC = 3600

export interface ClientOptions {
  as?: string
  url?: string
  apiKeyFile?: string
}

export const addClientOptions = (command: Command): Command =>
  command
    .option('--as <username>', 'the account to speak for; default: REEVE_ADMIN_USERNAME, else admin')
    .option('--url <url>', 'the server; default: SERVER_HOST and SERVER_PORT')
    .option('--api-key-file <file>', 'in place of --as, from another machine: a file with an API key')

export async function withClient<T>(options: ClientOptions, use: (reeve: ReeveClient) => Promise<T>): Promise<T> {
  const { core: config } = parseConfig(environment(), doorSettings())
  const url = options.url ?? `http://${config.SERVER_HOST.replace('0.0.0.0', '127.0.0.1')}:${config.SERVER_PORT}`
  if (options.apiKeyFile !== undefined) {
    const apiKey = readFileSync(options.apiKeyFile, 'utf8').trim()
    return explained(url, () => use(new ReeveClient({ url, apiKey })))
  }
  const username = options.as ?? nameOfAdmin(config)
  return withEngine(async ({ database, identity }) => {
    const account = await identity.findAccount(username)
    if (account === null) throw new CommandFailed(`There is no account ${plain(username)}: use --as.`)
    const { token } = await issueToken(database, account.accountId, TOKEN_SEC)
    try {
      return await explained(url, () => use(new ReeveClient({ url, token })))
    } finally {
      await revokeToken(database, token)
    }
  })
}

const nameOfAdmin = ({ REEVE_ADMIN_USERNAME }: Config): string => REEVE_ADMIN_USERNAME || 'admin'

async function explained<T>(url: string, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof ReeveError) throw new CommandFailed(plain(error.message))
    if (error instanceof TypeError) throw new CommandFailed(`No answer from ${url}: is the server running?`)
    throw error
  }
}
