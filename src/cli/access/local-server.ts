// The server's routes in the process of a command, on the database that is here: a command and a client over the network go the
// same way, and no server has to run. Nothing listens, and no job is done.
import type { FastifyInstance, InjectOptions } from 'fastify'
import { userInfo } from 'node:os'
import { Capabilities } from '../../core/capabilities.ts'
import { systemClock } from '../../core/clock.ts'
import { CloseStack } from '../../core/concurrency/close-stack.ts'
import type { Config } from '../../core/config.ts'
import { echo } from '../../core/executor/echo.ts'
import { openFiles } from '../../core/files/open-files.ts'
import { openHttp } from '../../core/http/server.ts'
import type { Account } from '../../core/identity/accounts.ts'
import type { Identity } from '../../core/identity/identity.ts'
import { ROLES } from '../../core/identity/role.ts'
import { newSecret } from '../../core/random.ts'
import { openDoors } from '../../main.ts'
import { CommandFailed } from '../failure.ts'
import { plain } from '../terminal.ts'
import { withSettings } from './with-engine.ts'

export interface LocalServer {
  url: string
  /** Of the account, or of the command line. */
  token: string
  fetch: typeof fetch
}

/** As the account of that name; null: as the command line, which may do what an admin may, and is no account. */
export function withLocalServer<T>(username: string | null, use: (server: LocalServer) => Promise<T>): Promise<T> {
  return withSettings(async (settings, deps, metrics) => {
    const { config, log, engine } = deps
    const speaker = username === null ? commandLine() : await findSpeaker(deps.identity, username)
    const token = newSecret()
    const identity: Identity = {
      ...deps.identity,
      authenticate: async ({ secret }) => (secret === token ? speaker : null),
    }
    const closing = new CloseStack(log)
    try {
      const { files, about } = openFiles(config)
      const more = { files, metrics, clock: systemClock, capabilities: new Capabilities() }
      const doors = await openDoors({ ...engine, ...deps, ...more, identity }, settings, closing)
      engine.kinds.add([echo, ...doors.flatMap(({ opened }) => opened.kinds ?? [])])
      const { app, close } = await openHttp({
        ...engine,
        ...deps,
        ...more,
        identity,
        doors,
        about: { database: 'here', feed: engine.about, files: about },
      })
      closing.push('routes', close)
      return await use({ url: urlFor(config), token, fetch: fetchFrom(app) })
    } finally {
      await closing.close()
    }
  })
}

/** No account: the audit trail says that a command of this machine did it. */
const commandLine = (): Account => ({
  accountId: 0,
  username: `${userInfo().username} (command line)`,
  roles: ROLES,
  isActive: true,
  createdAt: new Date(systemClock.now()),
})

async function findSpeaker(identity: Identity, username: string): Promise<Account> {
  const account = await identity.findAccount(username)
  if (account === null) throw new CommandFailed(`There is no account ${plain(username)}: use --as.`)
  return account
}

/** A host that the server answers for. */
function urlFor({ PUBLIC_URL, ALLOWED_HOSTS, SERVER_PORT }: Config): string {
  if (URL.canParse(PUBLIC_URL)) return PUBLIC_URL
  return `http://${ALLOWED_HOSTS[0] ?? '127.0.0.1'}:${SERVER_PORT}`
}

const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const satisfies readonly InjectOptions['method'][]
const WITHOUT_BODY = [204, 205, 304]

const fetchFrom =
  (app: FastifyInstance): typeof fetch =>
  async (input, init) => {
    const request = new Request(input, init)
    const { pathname, search, host } = new URL(request.url)
    const method = METHODS.find((name) => name === request.method)
    if (method === undefined) throw new Error(`No command sends ${request.method}.`)
    const payload = Buffer.from(await request.arrayBuffer())
    const answer = await app.inject({
      method,
      url: `${pathname}${search}`,
      headers: { ...Object.fromEntries(request.headers), host },
      ...(payload.length === 0 ? {} : { payload }),
      payloadAsStream: true,
    })
    const headers = Object.entries(answer.headers).map(([name, value]): [string, string] => [name, String(value)])
    const hasBody = !WITHOUT_BODY.includes(answer.statusCode)
    return new Response(hasBody ? answer.stream() : null, { status: answer.statusCode, headers })
  }
