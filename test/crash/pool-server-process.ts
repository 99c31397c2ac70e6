// A pool server in a process of its own, on a database of its own: as it is run, and without what a test runner costs.
import type { TestContext } from 'node:test'
import { migrationFolders } from '../../src/doors/outline.ts'
import { ADMIN, urlOf } from '../contract/pool/setup.ts'
import { freshDatabase } from '../support/database.ts'
import { freePort } from '../support/servers.ts'
import { until } from '../support/until.ts'
import { dataFolder, spawnReeve } from './reeve.ts'

export async function startServerProcess(t: TestContext, env: Record<string, string>) {
  const at = await freshDatabase(migrationFolders())
  const port = String(await freePort())
  const server = spawnReeve(t, await dataFolder(t), {
    DATABASE_URL: urlOf(at),
    SERVER_PORT: port,
    DOORS: 'pool',
    REEVE_ADMIN_USERNAME: ADMIN.username,
    REEVE_ADMIN_PASSWORD: ADMIN.password,
    LOGIN_RATE_LIMIT_MAX: '1000',
    ...env,
  })
  await until('the server is ready', () => server.said().includes('ready at'), server.said)
  const stop = async () => {
    server.signal('SIGTERM')
    await server.exited
  }
  return { url: `http://127.0.0.1:${port}`, at, stop }
}
