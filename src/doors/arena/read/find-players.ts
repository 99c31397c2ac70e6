// GET /api/players?name=: players of the leaderboard whose name begins so.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Pool } from '../../../core/db/database.ts'
import { requireAccount } from '../../../core/http/auth/guard.ts'
import { Success } from '../../../core/http/errors/envelope.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import type { Identity } from '../../../core/identity/identity.ts'
import { usernameKey } from '../../../core/identity/username.ts'
import { envelope, refusals } from '../errors.ts'

const CANDIDATES = 200
const FOUND_MAX = 10

// Bounded, however many accounts begin so and have never played. A name that is an email address is shown to nobody.
const SELECT = `
  select a.account_id, a.username, round(p.rating)::integer as rating
    from (select account_id, username, username_key from accounts
           where username_key ~>=~ $1::text and username_key ~<~ ($1::text || chr(1114111))
             and is_active and strpos(username, '@') = 0
           order by username_key using ~<~ limit ${CANDIDATES}) as a
    join players p on p.user_id = a.account_id
   where p.place is not null
   order by a.username_key using ~<~ limit ${FOUND_MAX}`

const Query = Type.Object({ name: Type.String({ minLength: 1, maxLength: 100 }) })
const Found = Success(
  Type.Object({
    players: Type.Array(Type.Object({ userId: Type.Integer(), username: Type.String(), rating: Type.Integer() })),
  }),
)

export const findPlayersRoute =
  ({ pool, identity }: { pool: Pool; identity: Identity }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      tags: ['arena'],
      security: SECURED,
      summary: `Players of the leaderboard whose name begins so: the first ${FOUND_MAX}.`,
      querystring: Query,
      response: { 200: Found, ...refusals },
    }

    app.get('/api/players', { schema, onRequest: requireAccount(identity) }, async (request, reply) => {
      type FoundRow = { account_id: string; username: string; rating: number }
      const rows = await pool.query<FoundRow>(SELECT, [usernameKey(request.query.name)])
      const players = rows.map(({ account_id: id, username, rating }) => ({ userId: Number(id), username, rating }))
      return reply.send(envelope.success({ players }))
    })
  }
