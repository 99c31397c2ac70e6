// A built server on a PostgreSQL (and a Redis) of its own, a program that waits and an operator who solves, all over HTTP.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openDatabase } from '../../src/core/db/database.ts'
import type { Role } from '../../src/core/identity/role.ts'
import { processorMicros } from '../processor.ts'
import { addAccount } from '../servers/account.ts'
import { spawnBound } from '../servers/bound-process.ts'
import { freePort } from '../servers/free-port.ts'
import { startPostgres } from '../servers/postgres.ts'
import { startRedis } from '../servers/redis.ts'
import type { Teardown } from '../teardown.ts'
import { openAsk, type Ask } from './ask.ts'

export type Mode = 'PostgreSQL' | 'Redis'

export interface ProcessorTime {
  server: number
  postgres: number
  /** This process. */
  load: number
}

export interface Field {
  program: Ask
  operator: Ask
  /** In microseconds, so far. */
  spent(): ProcessorTime
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
    const { token } = await addAccount(database, username, [role])
    return openAsk(port, token, teardown)
  }
  return {
    program: await asker('program', 'SCRAPER'),
    operator: await asker('operator', 'OPERATOR'),
    spent() {
      const { user: own, system } = process.cpuUsage()
      return {
        server: processorMicros([server.pid]),
        postgres: processorMicros([postgres.pid]),
        load: own + system,
      }
    },
    postgresVersion: postgres.version,
    redisVersion: redis?.version ?? 'none',
  }
}
