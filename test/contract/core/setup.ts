// The whole HTTP side on a database of its own, with no door unless the test brings one.
import assert from 'node:assert/strict'
import { Writable } from 'node:stream'
import type { TestContext } from 'node:test'
import type { InjectOptions } from 'fastify'
import { parseConfig } from '../../../src/core/config.ts'
import type { Door, Opened } from '../../../src/core/door.ts'
import { depsOf, openEngine } from '../../../src/core/engine.ts'
import { openFolderStore } from '../../../src/core/files/folder-store.ts'
import type { Kind } from '../../../src/core/executor/kind.ts'
import { openHttp } from '../../../src/core/http/server.ts'
import { openIdentity } from '../../../src/core/identity/identity.ts'
import type { Role } from '../../../src/core/identity/role.ts'
import { openLog } from '../../../src/core/log/log.ts'
import { startLoops } from '../../../src/core/loop.ts'
import { openMetrics } from '../../../src/core/metrics.ts'
import { atEnd } from '../../support/cleanup.ts'
import { testDatabase } from '../../support/database.ts'
import { temporaryFolder } from '../../support/servers.ts'

export interface SetupOptions {
  env?: Record<string, string>
  doors?: readonly { door: Door; opened: Opened }[]
  /** All doors of the build. Default: `doors`. */
  built?: readonly Pick<Door, 'name' | 'about'>[]
  kinds?: readonly Kind[]
  /** In place of the real ones. */
  checks?: { feed?: () => Promise<void>; files?: () => Promise<void> }
  about?: { database: string; feed: string; files: string }
}

export type Setup = Awaited<ReturnType<typeof setup>>

export async function setup(t: TestContext, options: SetupOptions = {}) {
  const { database } = await testDatabase(t)
  const env = { SERVER_PORT: '0', LOG_LEVEL: 'trace', DRAIN_TIMEOUT_SEC: '3', ...options.env }
  const { core: config } = parseConfig(env, {})
  const lines: string[] = []
  const destination = new Writable({
    write(chunk, _encoding, done) {
      lines.push(String(chunk))
      done()
    },
  })
  const log = openLog(config, destination)
  const metrics = openMetrics()
  const engine = await openEngine({ config, database, metrics, log })
  engine.kinds.add(options.kinds ?? [{ name: 'echo' }])
  atEnd(t, () => engine.close())
  const identity = openIdentity({ database, config })
  const folder = openFolderStore(await temporaryFolder(t))
  const files = { ...folder, check: options.checks?.files ?? (() => folder.check()) }
  const deps = depsOf(engine, { config, database, files, identity, metrics, log })
  const http = await openHttp({
    ...deps,
    feed: { check: options.checks?.feed ?? (() => engine.feed.check()) },
    doors: options.doors ?? [],
    ...(options.built === undefined ? {} : { built: options.built }),
    kinds: engine.kinds,
    about: options.about ?? { database: 'PostgreSQL', feed: 'PostgreSQL', files: 'a folder' },
  })
  const loops = startLoops(http.loops, log)
  atEnd(t, () => loops.stop())
  atEnd(t, () => http.close())

  const { app } = http
  const ask = async (request: InjectOptions & { token?: string }) => {
    const { token, ...rest } = request
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` }
    return app.inject({ ...rest, headers: { ...authorization, ...rest.headers } })
  }
  const account = async (username: string, roles: readonly Role[] = []) => {
    const made = await identity.register({ username, password: `${username} password`, roles })
    assert(made.ok)
    const answer = await identity.login({ username, password: `${username} password`, address: 'setup' })
    assert(answer.ok)
    return { token: answer.token, accountId: made.account.accountId }
  }
  return { app, http, ask, account, engine, database, identity, config, lines, metrics }
}
