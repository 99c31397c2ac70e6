// /about: what this server offers to whoever asks: its open doors, whether one may register, and which account asks.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Config } from '../../config.ts'
import type { Identity } from '../../identity/identity.ts'
import { credentialOf } from '../auth/guard.ts'

const DoorAbout = Type.Object({
  name: Type.String(),
  about: Type.String(),
  state: Type.Union([Type.Literal('open'), Type.Literal('closed')]),
})
const About = Type.Object({
  version: Type.String(),
  doors: Type.Array(DoorAbout),
  registration: Type.Union([Type.Literal('open'), Type.Literal('closed')]),
  account: Type.Union(
    [Type.Object({ user_id: Type.Integer(), username: Type.String(), roles: Type.Array(Type.String()) }), Type.Null()],
    { description: 'Null: nobody is signed in.' },
  ),
})

export interface DoorState {
  name: string
  about: string
  state: 'open' | 'closed'
}

export interface AboutDeps {
  identity: Pick<Identity, 'authenticate'>
  config: Pick<Config, 'REGISTRATION'>
  version: string
  doors: readonly DoorState[]
}

export const aboutRoute =
  ({ identity, config, version, doors }: AboutDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      tags: ['server'],
      summary: 'Open doors, registration, and the account that asks.',
      response: { 200: About },
    }
    app.get('/about', { schema }, async (request, reply) => {
      const credential = credentialOf(request)
      const account = credential === null ? null : await identity.authenticate(credential)
      reply.header('cache-control', 'no-store')
      return {
        version,
        doors: doors.map(({ name, about, state }) => ({ name, about, state })),
        registration: config.REGISTRATION,
        account:
          account === null
            ? null
            : { user_id: account.accountId, username: account.username, roles: [...account.roles] },
      }
    })
  }
