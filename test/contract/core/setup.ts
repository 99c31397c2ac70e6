// The whole HTTP side on a database of its own, with no door unless the test brings one.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import type { InjectOptions } from 'fastify'
import { parseConfig } from '../../../src/core/config.ts'
import type { Door, Opened } from '../../../src/core/door.ts'
import type { Kind } from '../../../src/core/executor/kind.ts'
import { openHttp } from '../../../src/core/http/server.ts'
import { insertAccount } from '../../../src/core/identity/accounts.ts'
import { openPasswords } from '../../../src/core/identity/passwords/password.ts'
import type { Role } from '../../../src/core/identity/role.ts'
import { startLoops } from '../../../src/core/loop.ts'
import { atEnd } from '../../support/cleanup.ts'
import { testDatabase } from '../../support/database.ts'
import { testEngine } from '../../support/engine.ts'
import { loginOf } from '../../support/login.ts'

export interface SetupOptions {
  env?: Record<string, string>
  doors?: readonly { door: Door; opened: Opened }[]
  /** All doors of the build. Default: `doors`. */
  built?: readonly Pick<Door, 'name' | 'about'>[]
  kinds?: readonly Kind[]
  /** In place of the real ones. */
  checks?: { feed?: () => Promise<void>; files?: () => Promise<void> }
  about?: { database: string; feed: string; files: string }
}

export type Setup = Awaited<ReturnType<typeof setup>>

export async function setup(t: TestContext, options: SetupOptions = {}) {
  const { database } = await testDatabase(t)
  const env = { SERVER_PORT: '0', LOG_LEVEL: 'trace', DRAIN_TIMEOUT_SEC: '3', ...options.env }
  const { core: config } = parseConfig(env, {})
  const { engine, identity, files, metrics, log, lines, deps } = await testEngine(t, { config, database })
  engine.kinds.add(options.kinds ?? [{ name: 'echo' }])
  const http = await openHttp({
    ...deps,
    files: { ...files, check: options.checks?.files ?? (() => files.check()) },
    feed: { check: options.checks?.feed ?? (() => engine.feed.check()) },
    doors: options.doors ?? [],
    ...(options.built === undefined ? {} : { built: options.built }),
    kinds: engine.kinds,
    about: options.about ?? { database: 'PostgreSQL', feed: 'PostgreSQL', files: 'a folder' },
  })
  const loops = startLoops(http.loops, log)
  atEnd(t, () => loops.stop())
  atEnd(t, () => http.close())

  const { app } = http
  const ask = async (request: InjectOptions & { token?: string }) => {
    const { token, ...rest } = request
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
    return app.inject({ ...rest, headers: { ...authorization, ...rest.headers } })
  }
  const account = async (username: string, roles: readonly Role[] = []) => {
    const made = await insertAccount(database, { username, passwordHash: await hashOf(`${username} password`), roles })
    assert(made !== null, `there is an account ${username}`)
    return { token: await loginOf(database, made.accountId), accountId: made.accountId }
  }
  return { app, http, ask, account, engine, database, identity, config, lines, metrics }
}

// Hashing a password takes longer than most tests.
const passwords = openPasswords()
const hashes = new Map<string, Promise<string>>()

function hashOf(password: string): Promise<string> {
  const hash = hashes.get(password) ?? passwords.hash(password)
  hashes.set(password, hash)
  return hash
}
