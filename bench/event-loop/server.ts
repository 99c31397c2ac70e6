// A server with all doors and the embedded PostgreSQL, which tells how long its event loop was blocked.
import { once } from 'node:events'
import { openDatabase, type Database } from '../../src/core/db/database.ts'
import { ROLES } from '../../src/core/identity/role.ts'
import { addAccount } from '../servers/account.ts'
import { startReeve } from '../servers/reeve.ts'
import type { Teardown } from '../teardown.ts'

const MONITOR = new URL('monitor.js', import.meta.url).href

export const SECRET = 'bench secret'

export interface WatchedServer {
  url: string
  database: Database
  /** Of an account with every role. */
  token: string
  accountId: number
  /** In milliseconds, since the last call. */
  longestBlock(): Promise<number>
}

export async function startWatched(dataDir: string, teardown: Teardown): Promise<WatchedServer> {
  const env = {
    SHARED_SECRET_KEY: SECRET,
    JUDGE_SAMPLE_PROBLEMS: 'false',
    SUBMIT_RATE_LIMIT_MAX: '1000',
  }
  const { child, url } = await startReeve({ dataDir, env, nodeOptions: ['--import', MONITOR] }, teardown)
  const database = openDatabase({ host: `${dataDir}/run`, port: 5432, user: 'reeve', database: 'reeve' }, () => {})
  teardown.add(() => database.close())
  const { accountId, token } = await addAccount(database, 'bench', ROLES)
  return {
    url,
    database,
    token,
    accountId,
    async longestBlock() {
      const told = once(child, 'message')
      child.send('longest block')
      const [message]: { blockedMs: number }[] = await told
      return message?.blockedMs ?? NaN
    },
  }
}
