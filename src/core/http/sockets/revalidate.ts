// A WebSocket ends when the credential that opened it ends: a logout, an expired token, a revoked key, a lost role or a closed
// account. Every process checks its own sockets, a share at a time. One query finds the few whose token or roles have
// changed, so that nothing is made for the others; only these, and API keys, are authenticated again.
import { Counter } from 'prom-client'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { WebSocket } from 'ws'
import type { Account } from '../../identity/accounts.ts'
import type { Identity } from '../../identity/identity.ts'
import type { Role } from '../../identity/role.ts'
import { heldToken, type HeldToken } from '../../identity/tokens.ts'
import type { Credential } from '../../identity/secrets.ts'
import type { Loop } from '../../loop.ts'
import type { Metrics } from '../../metrics.ts'
import { closeSocket } from './close-socket.ts'
import { Rounds } from './rounds.ts'

const ROUND_MS = 3000 // sockets end within 5 s

const UNAUTHORIZED = { code: 1008, reason: 'unauthorized' } as const
const FORBIDDEN = { code: 1008, reason: 'forbidden' } as const

/** What opened a socket: less than the request, which takes kilobytes for as long as the socket is open. */
interface Admitted {
  credential: Credential
  /** Null: an API key. */
  held: HeldToken | null
  needed: readonly Role[]
  /** Not null: any change of the roles ends the socket. */
  exactRoles: string | null
}

export interface RevalidateDeps {
  app: FastifyInstance
  identity: Pick<Identity, 'authenticate' | 'changedTokens'>
  metrics: Metrics
}

/** To be called after the WebSocket plugin and before the routes are registered. */
export function openRevalidation({ app, identity, metrics }: RevalidateDeps): Loop {
  const admitted = new WeakMap<object, Admitted>()
  const open = new Rounds<WebSocket, Admitted>(ROUND_MS)
  const ended = new Counter({
    name: 'websocket_ended_total',
    help: 'WebSockets closed because their credential, role or account ended.',
    labelNames: ['reason'],
    registers: [metrics],
  })

  app.addHook('preHandler', (request, _reply, done) => {
    const by = request.ws ? admittedBy(request) : null
    if (by !== null) admitted.set(request.raw, by)
    done()
  })
  app.websocketServer.on('connection', (socket: WebSocket, raw: object) => {
    const by = admitted.get(raw)
    if (by === undefined) return
    open.add(socket, by)
    socket.once('close', () => open.remove(socket))
  })

  const check = async (socket: WebSocket, by: Admitted): Promise<void> => {
    const account = await identity.authenticate(by.credential)
    if (account !== null && mayStay(by, account)) return
    const ending = account === null ? UNAUTHORIZED : FORBIDDEN
    ended.inc({ reason: ending.reason })
    open.remove(socket)
    closeSocket(socket, ending)
  }

  return {
    name: 'revalidate-websockets',
    get everyMs() {
      return open.everyMs
    },
    async runOnce() {
      const share = open.next()
      const changed = await identity.changedTokens(share.flatMap(([, { held }]) => held ?? []))
      let place = -1
      const doubtful = share.filter(([, { held }]) => {
        if (held === null) return true
        place += 1
        return changed.has(place)
      })
      await Promise.all(doubtful.map(([socket, by]) => check(socket, by)))
      return false
    },
  }
}

function admittedBy({ credential, account, socketRoles, routeOptions }: FastifyRequest): Admitted | null {
  if (credential === null) return null
  const exactRoles = routeOptions.config.endsWithRoles === true ? String(account?.roles) : null
  const held = credential.kind === 'token' ? heldToken(credential.secret, account?.roles ?? []) : null
  return { credential, held, needed: socketRoles ?? [], exactRoles }
}

function mayStay({ needed, exactRoles }: Admitted, { roles }: Account): boolean {
  if (exactRoles !== null) return exactRoles === String(roles)
  return needed.length === 0 || needed.some((role) => roles.includes(role))
}
