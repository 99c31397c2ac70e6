// A built server on a PostgreSQL (and a Redis) of its own, a program that waits and an operator who solves, all over HTTP.
import { mkdtemp, rm } from 'node:fs/promises'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../src/core/db/database.ts'
import { insertAccount } from '../../src/core/identity/accounts.ts'
import type { Role } from '../../src/core/identity/role.ts'
import { issueToken } from '../../src/core/identity/tokens.ts'
import { spawnBound } from '../servers/bound-process.ts'
import { freePort } from '../servers/free-port.ts'
import { startPostgres } from '../servers/postgres.ts'
import { startRedis } from '../servers/redis.ts'
import type { Teardown } from '../teardown.ts'

export type Mode = 'PostgreSQL' | 'Redis'

export interface Answer {
  status: number
  // oxlint-disable-next-line typescript/no-explicit-any -- the desk's own JSON
  body: any
}

export type Ask = (method: string, path: string, options?: { body?: object; waitSec?: number }) => Promise<Answer>

export interface Field {
  program: Ask
  operator: Ask
  postgresVersion: string
  redisVersion: string
}

export async function openField(mode: Mode, teardown: Teardown): Promise<Field> {
  const folder = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
  teardown.add(() => rm(folder, { recursive: true, force: true }))
  const postgres = await startPostgres(folder, teardown)
  const redis = mode === 'Redis' ? await startRedis(folder, teardown) : null
  await postgres.createDatabase('desk')
  const { host, port: pgPort, user } = postgres
  const port = await freePort('127.0.0.1')
  const settings = {
    DATABASE_URL: `postgres://${user}@localhost:${pgPort}/desk?host=${encodeURIComponent(host)}`,
    REEVE_DATA_DIR: join(folder, 'reeve'),
    SERVER_PORT: String(port),
    LOG_LEVEL: 'warn',
    DOORS: 'desk',
    CAPTCHA_OPERATOR_RATE_LIMIT: '1000000',
    CAPTCHA_DOMAIN_RATE_LIMIT: '1000000',
    QUOTA_OPEN_TASKS: '1000000',
    ...(redis === null ? {} : { REDIS_URL: `redis://127.0.0.1:${redis.port}` }),
  }
  const env = Object.entries(settings).map(([name, value]) => `${name}=${value}`)
  const server = spawnBound(['env', ...env, process.execPath, '--max-semi-space-size=64', 'dist/cli/main.js', 'up'])
  teardown.add(() => server.stop('SIGTERM'))
  const url = `http://127.0.0.1:${port}`
  await server.ready(async () => {
    if (!(await fetch(`${url}/readyz`)).ok) throw new Error('not ready')
  })

  const database = openDatabase({ host, port: pgPort, user, database: 'desk' }, () => {})
  teardown.add(() => database.close())
  const asker = async (username: string, role: Role): Promise<Ask> => {
    const account = await insertAccount(database, { username, passwordHash: 'none', roles: [role] })
    const issued = await issueToken(database, { accountId: account?.accountId ?? 0, ttlSec: 3600 })
    if (issued === null) throw new Error('The account got no token.')
    return askAs(port, issued.token, teardown)
  }
  return {
    program: await asker('program', 'SCRAPER'),
    operator: await asker('operator', 'OPERATOR'),
    postgresVersion: postgres.version,
    redisVersion: redis?.version ?? 'none',
  }
}

function askAs(port: number, token: string, teardown: Teardown): Ask {
  const agent = new http.Agent({ keepAlive: true, maxSockets: Infinity })
  teardown.add(async () => agent.destroy())
  return (method, path, { body, waitSec } = {}) =>
    new Promise((resolve, reject) => {
      const text = body === undefined ? '' : JSON.stringify(body)
      const headers = {
        authorization: `Bearer ${token}`,
        ...(body === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
        ...(waitSec === undefined ? {} : { prefer: `wait=${waitSec}` }),
      }
      const request = http.request({ host: '127.0.0.1', port, method, path, headers, agent }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(chunks).toString()) }),
        )
        response.on('error', reject)
      })
      request.on('error', reject)
      request.end(text)
    })
}
