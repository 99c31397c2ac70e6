// The HTTP side with every door open, without a listener: for tests that ask every route.
import type { TestContext } from 'node:test'
import { CloseStack } from '../../src/core/concurrency/close-stack.ts'
import { parseConfig } from '../../src/core/config.ts'
import { openHttp } from '../../src/core/http/server.ts'
import { ROLES, type Role } from '../../src/core/identity/role.ts'
import { insertAccount } from '../../src/core/identity/accounts.ts'
import { openDoors } from '../../src/main.ts'
import { DOORS } from '../../src/doors/doors.ts'
import { doorSettings, migrationFolders } from '../../src/doors/outline.ts'
import { atEnd } from '../support/cleanup.ts'
import { testDatabase } from '../support/database.ts'
import { testEngine } from '../support/engine.ts'
import { temporaryFolder } from '../support/servers.ts'
import { loginOf } from '../support/login.ts'

export async function allDoors(t: TestContext) {
  const { database } = await testDatabase(
    t,
    migrationFolders().filter(({ owner }) => owner !== 'core'),
  )
  const folder = await temporaryFolder(t)
  const settings = parseConfig(
    { SERVER_PORT: '0', LOG_LEVEL: 'warn', REEVE_DATA_DIR: folder, DRAIN_TIMEOUT_SEC: '3' },
    doorSettings(),
  )
  const { core: config } = settings
  const { engine, identity, log, lines, deps } = await testEngine(t, { config, database })
  const closing = new CloseStack(log)
  atEnd(t, () => closing.close())
  const doors = await openDoors(deps, settings, closing)
  engine.kinds.add(doors.flatMap(({ opened }) => opened.kinds ?? []))
  const http = await openHttp({
    ...deps,
    feed: engine.feed,
    doors,
    kinds: engine.kinds,
    built: DOORS,
    about: { database: 'PostgreSQL', feed: 'PostgreSQL', files: 'a folder' },
  })
  closing.push('http', http.close)

  const accountIds = new Map<Role, number>()
  let generation = 0
  /** In place of those before them: some routes delete accounts, or take their roles. */
  const newAccounts = async () => {
    generation += 1
    const suffix = generation
    for (const role of ROLES) {
      const account = { username: `${role}${suffix}`, passwordHash: 'none', roles: [role] }
      const made = await insertAccount(database, account)
      if (made !== null) accountIds.set(role, made.accountId)
    }
  }
  await newAccounts()
  /** A new one each time: some routes end the login that asks. */
  const tokenOf = (role: Role) => loginOf(database, accountIds.get(role) ?? 0)
  const keys = new Map<Role, string>()
  /** The last one, where the account can have no more. */
  const keyOf = async (role: Role): Promise<string> => {
    const key = { token: await tokenOf(role), name: 'k', scopes: null, expiresAt: null }
    const made = await identity.createApiKey(accountIds.get(role) ?? 0, key)
    if (made.ok) keys.set(role, made.secret)
    return keys.get(role) ?? ''
  }
  return { app: http.app, newAccounts, tokenOf, keyOf, lines, database }
}

/** Every route, from Fastify's own tree. HEAD belongs to GET. */
export function routesOf(app: { printRoutes(options: { commonPrefix: false }): string }): string[] {
  const routes: string[] = []
  const prefixes: string[] = []
  for (const line of app.printRoutes({ commonPrefix: false }).split('\n')) {
    const match = /^((?:│ {3}| {4})*)(?:├── |└── )(\S*) \(([A-Z, ]+)\)$/.exec(line)
    if (match === null) continue
    const [, indent = '', part = '', methods = ''] = match
    const depth = indent.length / 4
    const url = `${prefixes[depth - 1] ?? ''}${part}`
    prefixes[depth] = url
    for (const method of methods.split(', ')) if (method !== 'HEAD') routes.push(`${method} ${url}`)
  }
  return routes.sort()
}
