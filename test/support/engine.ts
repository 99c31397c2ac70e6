// The engine in the test's own process, on a database of the test: what doors and the HTTP side stand on.
import { Writable } from 'node:stream'
import type { Config } from '../../src/core/config.ts'
import type { Database } from '../../src/core/db/database.ts'
import { depsOf, openEngine } from '../../src/core/engine.ts'
import { openFolderStore } from '../../src/core/files/folder-store.ts'
import { openIdentity } from '../../src/core/identity/identity.ts'
import { openLog } from '../../src/core/log/log.ts'
import { openMetrics } from '../../src/core/metrics.ts'
import { atEnd, type Scope } from './cleanup.ts'
import { temporaryFolder } from './servers.ts'

export async function testEngine(t: Scope, { config, database }: { config: Config; database: Database }) {
  const lines: string[] = []
  const log = openLog(
    config,
    new Writable({
      write(chunk, _encoding, done) {
        lines.push(String(chunk))
        done()
      },
    }),
  )
  const metrics = openMetrics()
  const engine = await openEngine({ config, database, metrics, log })
  atEnd(t, () => engine.close())
  const identity = openIdentity({ database, config })
  const files = openFolderStore(await temporaryFolder(t))
  const deps = depsOf(engine, { config, database, files, identity, metrics, log })
  return { engine, identity, files, metrics, log, lines, deps }
}
