// Reeve as a user runs it, in a process of its own, on the benchmark's PostgreSQL.
import { spawn } from 'node:child_process'
import type { PostgresServer } from '../servers/postgres.ts'
import { stopChild } from '../servers/stop-child.ts'
import type { Teardown } from '../teardown.ts'
import { openHttp, type Http } from './http.ts'
import { cpuMsOfFamily, usageOf, type ProcessUsage } from './usage.ts'

const PASSWORD = 'bench password'
const START_MS_MAX = 120_000 // migrations wait for the disk, and others may have left it much to write

export interface Account {
  authorization: string
}

export interface Reeve {
  url: string
  postgres: PostgresServer
  database: string
  http: Http
  admin: Account
  account(username: string, role: 'CLIENT' | 'WORKER_OWNER'): Promise<Account>
  /** So far. */
  usage(): Promise<ProcessUsage & { postgresCpuMs: number }>
  stop(): Promise<void>
}

export interface ReeveOptions {
  database: string
  /** A folder with another build, to compare with. */
  build: string
  nodeOptions: readonly string[]
  /** Further settings. */
  env?: Readonly<Record<string, string>>
}

export async function startReeve(postgres: PostgresServer, options: ReeveOptions, teardown: Teardown): Promise<Reeve> {
  const { database, build, nodeOptions, env = {} } = options
  await postgres.createDatabase(database)
  const { host, port, user } = postgres
  const child = spawn(
    process.execPath,
    ['--max-semi-space-size=64', ...nodeOptions, `${build}/dist/cli/main.js`, 'up'],
    {
      env: {
        PATH: process.env['PATH'] ?? '',
        DATABASE_URL: `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`,
        SERVER_PORT: '0',
        DOORS: 'pool',
        LOG_LEVEL: 'warn',
        REEVE_ADMIN_USERNAME: 'admin',
        REEVE_ADMIN_PASSWORD: PASSWORD,
        LOGIN_RATE_LIMIT_MAX: '100000',
        QUOTA_WORKERS: '100000',
        ...env,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  const stop = teardown.add(() => stopChild(child, START_MS_MAX))
  const url = await addressOf(child.stderr)
  const http = openHttp(url)
  const login = async (username: string): Promise<Account> => {
    const { body } = await http.post<{ access_token: string }>('/auth/login', { username, password: PASSWORD }, {})
    return { authorization: `Bearer ${body.access_token}` }
  }
  return {
    url,
    postgres,
    database,
    http,
    admin: await login('admin'),
    async account(username, role) {
      await http.post('/auth/register', { username, password: PASSWORD, role }, {})
      return login(username)
    },
    usage: async () => ({
      ...(await usageOf(child.pid ?? 0)),
      postgresCpuMs: await cpuMsOfFamily(postgres.pid),
    }),
    async stop() {
      http.close()
      await stop()
      await postgres.dropDatabase(database)
    },
  }
}

async function addressOf(stderr: NodeJS.ReadableStream): Promise<string> {
  let said = ''
  const deadline = setTimeout(() => stderr.emit('error', new Error(`Reeve did not start: ${said}`)), START_MS_MAX)
  for await (const chunk of stderr) {
    said += String(chunk)
    // oxlint-disable-next-line no-control-regex
    const url = /ready at (?:\u001b\[\d+m)?(http:\S+?)(?:\u001b|\s)/.exec(said)?.[1]
    if (url === undefined) continue
    clearTimeout(deadline)
    return url
  }
  throw new Error(`Reeve did not start: ${said}`)
}
