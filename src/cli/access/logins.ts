// Where `reeve login` keeps the keys of servers: one file in the user's config folder that nobody else can read.
import { mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { environment } from '../../core/config.ts'
import { isObject } from '../../core/values/is-object.ts'
import { CommandFailed } from '../failure.ts'
import { plain } from '../terminal.ts'

const OWNER_ONLY = 0o600
const FOLDER_OWNER_ONLY = 0o700
const OTHERS = 0o077

export interface StoredLogin {
  url: string
  username: string
  api_key_id: number
  api_key: string
}

/** The last login first. */
function readLogins(): StoredLogin[] {
  const file = loginsFile()
  let text: string
  try {
    if ((statSync(file).mode & OTHERS) !== 0) {
      throw new CommandFailed(`Others can read ${plain(file)}: chmod 600 it, and log in anew.`)
    }
    text = readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof CommandFailed) throw error
    return []
  }
  try {
    const value: unknown = JSON.parse(text)
    if (Array.isArray(value) && value.every(isLogin)) return value
  } catch {
    // said below
  }
  throw new CommandFailed(`${plain(file)} is damaged: remove it, and log in anew.`)
}

export const loginsFile = (): string =>
  join(environment()['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'reeve', 'logins.json')

/** Null for the URL: of the last login. */
export function findLogin(url: string | null): StoredLogin | null {
  const logins = readLogins()
  return (url === null ? logins[0] : logins.find((login) => sameServer(login.url, url))) ?? null
}

export const storeLogin = (login: StoredLogin): void =>
  writeLogins([login, ...readLogins().filter(({ url }) => !sameServer(url, login.url))])

export const forgetLogin = (login: StoredLogin): void =>
  writeLogins(readLogins().filter(({ url }) => !sameServer(url, login.url)))

function writeLogins(logins: readonly StoredLogin[]): void {
  const file = loginsFile()
  mkdirSync(dirname(file), { recursive: true, mode: FOLDER_OWNER_ONLY })
  writeFileSync(`${file}.new`, `${JSON.stringify(logins, null, 2)}\n`, { mode: OWNER_ONLY })
  renameSync(`${file}.new`, file)
}

const sameServer = (one: string, other: string): boolean => new URL(one).origin === new URL(other).origin

const isLogin = (value: unknown): value is StoredLogin =>
  isObject(value) &&
  typeof value['url'] === 'string' &&
  URL.canParse(value['url']) &&
  typeof value['username'] === 'string' &&
  typeof value['api_key'] === 'string' &&
  Number.isSafeInteger(value['api_key_id'])
