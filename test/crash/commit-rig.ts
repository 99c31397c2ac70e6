// A server process whose commits are counted on their way to it. At the one that a test names, the answer is lost, and the server or
// PostgreSQL is killed: what has happened is on disk, and nobody was told. Both are then started again.
import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openDatabase, type Database } from '../../src/core/db/database.ts'
import { insertAccount } from '../../src/core/identity/accounts.ts'
import type { Role } from '../../src/core/identity/role.ts'
import { atEnd } from '../support/cleanup.ts'
import { commitTap } from '../support/commits.ts'
import { socketOf, startProxy } from '../support/proxy.ts'
import { freePort, startRedis } from '../support/servers.ts'
import { killablePostgres } from './killable-postgres.ts'
import { dataFolder, spawnReeve } from './reeve.ts'
import type { FeedName } from './rig.ts'
import { loginOf } from '../support/login.ts'

const RETRY_MS = 50
const POINTS_MAX = 60 // a scenario that never ends without a strike is wrong

export const VICTIMS = ['the server', 'PostgreSQL'] as const
export type Victim = (typeof VICTIMS)[number]

export interface CommitRig {
  database: Database
  /** Aborts when the test ends, however it does. */
  isOver: AbortSignal
  token(username: string, role: Role): Promise<string>
  /** Asks until there is an answer that a client would accept: not one of a server that is away. */
  ask(token: string, method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Answered>
  /**
   * Runs the scenario again and again, and strikes at its first commit, then at its second, until it ends without a strike. The
   * victims take turns, beginning with `first`. Answers with what was committed at each strike.
   */
  atEveryCommit(first: Victim, scenario: (round: number) => Promise<void>): Promise<string[]>
}

interface Answered {
  status: number
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads what it expects, and fails where that is not there
  body: any
}

export interface CommitRigOptions {
  feed: FeedName
  /** Commits that wrote to one of these are counted. */
  tables: RegExp
  settings: Record<string, string>
}

export async function setupCommits(t: TestContext, options: CommitRigOptions): Promise<CommitRig> {
  const over = new AbortController()
  const postgres = await killablePostgres(t)
  let left = Infinity
  let strike: (tables: readonly string[]) => void = () => {}
  const onCommit = (tables: readonly string[]): boolean => {
    if (!tables.some((table) => options.tables.test(table))) return true
    left -= 1
    if (left !== 0) return true
    strike(tables)
    return false
  }
  const proxy = await startProxy(t, socketOf(postgres.at), () => commitTap(onCommit))
  const server = await killableServer(t, {
    ...options.settings,
    ...(await redisSettings(t, options.feed)),
    DATABASE_URL: `postgres://${postgres.at.user}@127.0.0.1:${proxy.port}/${postgres.at.database}`,
  })
  atEnd(t, () => over.abort())
  await server.startAgain()
  const database = openDatabase(postgres.at, () => {})
  atEnd(t, () => database.close())
  const victims = { 'the server': server.killAndStartAgain, PostgreSQL: postgres.killAndStartAgain }

  return {
    database,
    isOver: over.signal,
    async token(username, role) {
      const account = await insertAccount(database, { username, passwordHash: 'none', roles: [role] })
      assert(account !== null)
      return loginOf(database, account.accountId)
    },
    ask: (token, method, path, body, headers = {}) =>
      patiently(over.signal, async () => {
        const response = await fetch(server.url + path, {
          method,
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        })
        assert(response.status < 500, `the server is away: ${response.status}`)
        const text = await response.text()
        return { status: response.status, body: text === '' ? null : JSON.parse(text) }
      }),
    async atEveryCommit(first, scenario) {
      const struck: string[] = []
      for (let point = 1; point <= POINTS_MAX; point += 1) {
        const victim = VICTIMS[(VICTIMS.indexOf(first) + point) % VICTIMS.length] ?? first
        let recovery: Promise<void> | null = null
        strike = (tables) => {
          struck.push(`${victim} at ${tables.join(', ')}`)
          recovery = victims[victim]()
        }
        left = point
        await scenario(point)
        left = Infinity
        if (recovery === null) return struck
        await recovery
      }
      return assert.fail(`The scenario has more than ${POINTS_MAX} commits: ${struck.join('; ')}`)
    },
  }
}

/** Until there is an answer: the server may be away. */
async function patiently<T>(isOver: AbortSignal, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch {
      await sleep(RETRY_MS, undefined, { signal: isOver })
    }
  }
}

async function killableServer(t: TestContext, settings: Record<string, string>) {
  const folder = await dataFolder(t)
  const port = await freePort()
  const start = () => spawnReeve(t, folder, { ...settings, SERVER_PORT: String(port) })
  let server = start()
  const startAgain = async () => void (await server.ready())
  return {
    url: `http://127.0.0.1:${port}`,
    startAgain,
    async killAndStartAgain() {
      server.signal('SIGKILL')
      await server.exited
      server = start()
      await startAgain()
    },
  }
}

async function redisSettings(t: TestContext, feed: FeedName): Promise<Record<string, string>> {
  if (feed === 'PostgreSQL') return {}
  const redis = await startRedis()
  atEnd(t, redis.stop)
  return { REDIS_URL: redis.at }
}
