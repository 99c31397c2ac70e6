// /live: one WebSocket for all that a page watches. The client follows topics and names each with a text of its own choice:
//
//   → {"follow": "a", "topic": "jobs", "params": {…}, "since": 12}     follow again with the same name: in its place
//   → {"unfollow": "a"}
//   ← {"at": "2026-01-01T00:00:00.000Z"}                               at once, and every few seconds: the server is there
//   ← {"follow": "a", "type": "following"}
//   ← {"follow": "a", "type": "changed", "payload": {…}, "id": 13}
//   ← {"follow": "a", "error": "forbidden"}
import { refusals } from '../http/errors/detail.ts'
import { SECURED, UPGRADED } from '../http/routes/docs.ts'
import type { FastifyPluginAsync } from 'fastify'
import type { Logger } from 'pino'
import { Type } from 'typebox'
import { Check } from 'typebox/value'
import { isoNow } from '../clock.ts'
import { accountOf } from '../http/auth/guard.ts'
import { requireSocket } from '../http/auth/socket-auth.ts'
import type { Connection } from '../http/sockets/hub.ts'
import type { Account } from '../identity/accounts.ts'
import type { Identity } from '../identity/identity.ts'
import type { Loop } from '../loop.ts'
import type { LiveOpened, LiveTopic } from './topic.ts'

const FOLLOWS_MAX = 32
const TICK_EVERY_MS = 5000
const UNREADABLE = { code: 1007, reason: 'invalid_message' } as const
const TOO_MANY = 'too_many_follows'

const Name = Type.String({ minLength: 1, maxLength: 100 })
const Follow = Type.Object({
  follow: Name,
  topic: Type.String({ maxLength: 100 }),
  params: Type.Optional(Type.Unknown()),
  since: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
})
const Unfollow = Type.Object({ unfollow: Name })

const DESCRIBED = {
  tags: ['admin'],
  summary: 'WebSocket: the topics that a page of the console follows.',
  security: SECURED,
  response: { ...UPGRADED, ...refusals(401, 403, 426, 429) },
}

export interface LiveDeps {
  identity: Identity
  log: Logger
  topics: readonly LiveTopic[]
}

export interface LivePages {
  routes: FastifyPluginAsync
  loop: Loop
}

export function openLive({ identity, topics, log }: LiveDeps): LivePages {
  const connections = new Set<Connection>()
  const byName = new Map(topics.map((topic) => [topic.name, topic]))

  return {
    routes: async (app) => {
      const onRequest = requireSocket(identity)
      const config = { endsWithRoles: true }
      app.get('/live', { websocket: true, onRequest, config, schema: DESCRIBED }, (socket, request) => {
        const connection = app.hub.attach(socket)
        connections.add(connection)
        const follows = new Follows({ connection, account: accountOf(request), topics: byName, log })
        connection.onClose(() => {
          connections.delete(connection)
          follows.close()
        })
        connection.send(tick())
        socket.on('message', (data, isBinary) => {
          if (isBinary || !follows.hear(String(data))) connection.close(UNREADABLE.code, UNREADABLE.reason)
        })
      })
    },
    loop: {
      name: 'tick-live-pages',
      everyMs: TICK_EVERY_MS,
      async runOnce() {
        const message = tick()
        for (const connection of connections) connection.send(message)
        return false
      },
    },
  }
}

const tick = () => JSON.stringify({ at: isoNow() })

interface Followed {
  isClosed: boolean
  close: () => void
}

interface FollowsOptions {
  connection: Connection
  account: Account
  topics: ReadonlyMap<string, LiveTopic>
  log: Logger
}

/** What one connection follows. */
class Follows {
  readonly #connection: Connection
  readonly #account: Account
  readonly #topics: ReadonlyMap<string, LiveTopic>
  readonly #log: Logger
  readonly #followed = new Map<string, Followed>()

  constructor({ connection, account, topics, log }: FollowsOptions) {
    this.#connection = connection
    this.#account = account
    this.#topics = topics
    this.#log = log
  }

  /** False: this is no message of the protocol. */
  hear(text: string): boolean {
    const message = parsed(text)
    if (Check(Unfollow, message)) this.#end(message.unfollow)
    else if (Check(Follow, message)) void this.#begin(message)
    else return false
    return true
  }

  close(): void {
    for (const name of this.#followed.keys()) this.#end(name)
  }

  async #begin({ follow: name, topic: topicName, params, since }: Type.Static<typeof Follow>): Promise<void> {
    this.#end(name)
    const topic = this.#topics.get(topicName)
    if (this.#followed.size >= FOLLOWS_MAX) return this.#refuse(name, TOO_MANY)
    if (topic === undefined) return this.#refuse(name, 'unknown_topic')
    if (!this.#may(topic)) return this.#refuse(name, 'forbidden')

    const followed: Followed = { isClosed: false, close: () => {} }
    this.#followed.set(name, followed)
    const send = (type: string, payload: unknown, id?: number) => {
      if (!followed.isClosed) this.#connection.send(JSON.stringify({ follow: name, type, payload, id }))
    }
    const room = async () => !followed.isClosed && (await this.#connection.room())
    const opened = await this.#open(topic, { params: params ?? {}, since, account: this.#account, send, room })
    if (!opened.ok) {
      if (followed.isClosed) return
      this.#followed.delete(name)
      this.#refuse(name, opened.code)
    } else if (followed.isClosed) {
      opened.close()
    } else {
      followed.close = opened.close
      send('following', null)
    }
  }

  async #open(
    topic: LiveTopic,
    follow: Parameters<LiveTopic['open']>[0],
  ): Promise<LiveOpened | { ok: false; code: string }> {
    try {
      return await topic.open(follow)
    } catch (error) {
      this.#log.warn({ err: error, topic: topic.name }, 'a live topic could not be opened')
      return { ok: false, code: 'unavailable' }
    }
  }

  #may({ roles }: LiveTopic): boolean {
    return roles.length === 0 || roles.some((role) => this.#account.roles.includes(role))
  }

  #refuse(name: string, error: string): void {
    this.#connection.send(JSON.stringify({ follow: name, error }))
  }

  #end(name: string): void {
    const followed = this.#followed.get(name)
    if (followed === undefined) return
    this.#followed.delete(name)
    followed.isClosed = true
    followed.close()
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}
