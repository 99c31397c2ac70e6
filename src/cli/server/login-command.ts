// `reeve login` and `reeve logout`: a key for a server, for the commands of this user.
import { hostname } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { ReeveClient, ReeveError } from '@reeve/sdk'
import type { Command } from 'commander'
import { checkedFetch } from '../access/checked-fetch.ts'
import { findLogin, forgetLogin, loginsFile, storeLogin } from '../access/logins.ts'
import { explained, serverUrl } from '../access/server-url.ts'
import { CommandFailed } from '../failure.ts'
import { readText } from '../read-input.ts'
import { plain, print, printJson } from '../terminal.ts'

const KEY_DAYS = 90

export function addLoginCommand(program: Command): void {
  program
    .command('login')
    .description(`log in to a server: create an API key, valid for ${KEY_DAYS} days, and store it for other commands`)
    .argument('<url>', 'the server, such as https://reeve.example.org')
    .requiredOption('--username <name>', 'the account')
    .option('--password-stdin', 'read the password from standard input instead of asking for it')
    .option('--json', 'print JSON')
    .action(login)
}

export function addLogoutCommand(program: Command): void {
  program
    .command('logout')
    .description('revoke and delete the API key that reeve login stored')
    .argument('[url]', 'the server; default: the one of the last login')
    .option('--json', 'print JSON')
    .action(logout)
}

interface LoginOptions {
  username: string
  passwordStdin?: boolean
  json?: boolean
}

async function login(address: string, options: LoginOptions): Promise<void> {
  const url = new URL(serverUrl(address)).origin
  const { username } = options
  const password = options.passwordStdin === true ? readText('-').replace(/\r?\n$/, '') : await askHidden('Password: ')
  const key = await explained(url, async () => {
    const session = await ReeveClient.login({ url, username, password, fetch: checkedFetch })
    const made = await session.account.createApiKey({ name: `reeve login at ${hostname()}`, expires_in_days: KEY_DAYS })
    await session.request('POST', '/auth/logout')
    return made
  })
  storeLogin({ url, username, api_key_id: key.id, api_key: key.api_key })
  if (options.json === true) return printJson({ url, username, file: loginsFile() })
  print(`Logged in to ${url} as ${plain(username)}. The key is in ${plain(loginsFile())}.`)
}

async function logout(address: string | undefined, options: { json?: boolean }): Promise<void> {
  const stored = findLogin(address === undefined ? null : serverUrl(address))
  if (stored === null) throw new CommandFailed('You are not logged in there.')
  const { url, api_key: apiKey, api_key_id: keyId } = stored
  const client = new ReeveClient({ url, apiKey, fetch: checkedFetch })
  await explained(url, () => client.account.revokeApiKey(keyId).catch(unlessGone))
  forgetLogin(stored)
  if (options.json === true) return printJson({ url })
  print(`Logged out of ${plain(url)}.`)
}

/** A key that has ended by itself needs no revoking. */
function unlessGone(error: unknown): void {
  if (!(error instanceof ReeveError) || ![401, 404].includes(error.status)) throw error
}

/** The terminal echoes what readline writes: nothing. */
async function askHidden(question: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw new CommandFailed('There is no terminal to ask for the password. Use --password-stdin.', 2)
  process.stderr.write(question)
  const output = new Writable({ write: (_chunk, _encoding, done) => done() })
  const reader = createInterface({ input: process.stdin, output, terminal: true })
  try {
    return await reader.question('')
  } finally {
    reader.close()
    process.stderr.write('\n')
  }
}
