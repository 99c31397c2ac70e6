// Started by warm-tree.ts.
import { parseConfig } from '../../src/core/config.ts'
import { openLog } from '../../src/core/log/log.ts'
import { doorSettings, migrationFolders } from '../../src/doors/outline.ts'
import { start } from '../../src/main.ts'
import { freshDatabase } from '../support/database.ts'
import { fewLanguages, judgeCache } from '../support/judge-cache.ts'
import { PASSWORD, TEST_ENV, urlOf } from '../support/reeve.ts'
import { temporaryFolder } from '../support/servers.ts'

const PATHS = ['/readyz', '/metrics', '/console/']

const env = {
  ...TEST_ENV,
  REEVE_ADMIN_PASSWORD: PASSWORD,
  DATABASE_URL: urlOf(await freshDatabase(migrationFolders())),
  REEVE_DATA_DIR: await temporaryFolder(),
  JUDGE_CACHE_DIR: await judgeCache(),
  JUDGE_LANGUAGES_FILE: await fewLanguages,
}
const settings = parseConfig(env, doorSettings())
const { url, stop } = await start({ settings, role: 'up', log: openLog(settings.core) })
for (const path of PATHS) await fetch(`${url}${path}`)
await fetch(`${url}/auth/login`, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ username: TEST_ENV.REEVE_ADMIN_USERNAME, password: PASSWORD }),
})
await stop()
process.exit()
