// A server process: the door as it is, or the same HTTP server with another handler behind POST /solve.
import type { FastifyPluginAsync } from 'fastify'
import { parseConfig, type AllSettings } from '../../dist/core/config.js'
import type { Deps } from '../../dist/core/door.js'
import { depsOf, openEngine } from '../../dist/core/engine.js'
import { openFiles } from '../../dist/core/files/open-files.js'
import { openHttp } from '../../dist/core/http/server.js'
import { openIdentity } from '../../dist/core/identity/identity.js'
import { openLog } from '../../dist/core/log/log.js'
import { openMetrics } from '../../dist/core/metrics.js'
import { migrate } from '../../dist/core/db/migrate.js'
import { openStorage } from '../../dist/core/db/storage.js'
import { challengeDoor } from '../../dist/doors/challenge/door.js'
import { doorSettings, migrationFolders } from '../../dist/doors/outline.js'
import { start } from '../../dist/main.js'
import { handlers } from './handlers.ts'
import type { ServerOrder } from './server-process.ts'

const order: ServerOrder = JSON.parse(process.argv[2] ?? '')
const settings = parseConfig(order.settings, doorSettings())
const log = openLog(settings.core)

process.on('disconnect', () => process.exit(1)) // the benchmark is gone
process.on('SIGINT', () => {}) // Ctrl-C reaches all of the group; the benchmark gives the order
const url = await opened(order, settings)
process.on('SIGTERM', () => process.exit(0)) // nothing here is worth a drain
process.send?.(new URL(url).port)

async function opened({ variant }: ServerOrder, settings: AllSettings): Promise<string> {
  if (variant !== 'door' && variant !== 'up') return openVariant(settings, handlers[variant])
  const running = await start({ settings, role: variant === 'up' ? 'up' : 'serve', log })
  return running.url ?? ''
}

async function openVariant({ core: config }: AllSettings, routes: (deps: Deps) => FastifyPluginAsync): Promise<string> {
  const { database } = await openStorage(config, log)
  await migrate(database, migrationFolders())
  const metrics = openMetrics()
  const engine = await openEngine({ config, database, metrics, log })
  const identity = openIdentity({ database, config })
  const { files } = openFiles(config)
  const deps = depsOf(engine, { config, database, files, identity, metrics, log })
  const http = await openHttp({
    ...deps,
    feed: engine.feed,
    kinds: engine.kinds,
    doors: [{ door: challengeDoor, opened: { routes: routes(deps) } }],
    about: { database: '', feed: '', files: '' },
  })
  return (await http.listen()).url
}
