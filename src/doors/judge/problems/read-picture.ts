// GET /problems/{problem_id}/statement/{file}: a picture of the statement, for whoever may read the statement. Packages are
// uploads: the type comes from a fixed list, and a picture that is opened as a page runs no script.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Deps } from '../../../core/door.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { requireAccount } from '../../../core/http/auth/guard.ts'
import { LOOKUP_REFUSALS, problem } from '../errors.ts'
import { pictureType } from '../package/pictures.ts'
import { pictureKey } from './import-problem.ts'
import type { ProblemStore } from './problem-store.ts'
import { ProblemPath } from './read-problems.ts'

const POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox"
const PicturePath = Type.Object({ ...ProblemPath.properties, file: Type.String({ maxLength: 512 }) })

export const pictureRoute =
  ({ identity, files, problems }: Pick<Deps, 'identity' | 'files'> & { problems: ProblemStore }): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      tags: ['judge'],
      security: SECURED,
      summary: 'A picture of the statement: GIF, JPEG, PNG, SVG or WebP.',
      params: PicturePath,
      response: { 200: Type.Unknown({ description: 'image/*' }), ...LOOKUP_REFUSALS },
    }

    app.get('/problems/:problem_id/statement/:file', { schema, onRequest: requireAccount(identity) }, async (request, reply) => {
      const { problem_id: problemId, file } = request.params
      const found = await problems.get(problemId)
      if (found === null) throw problem('problem_not_found')
      const picture = found.about.pictures?.find(({ name }) => name === file)
      const type = pictureType(file)
      const content = picture === undefined || type === null ? null : await files.get(pictureKey(picture.sha256))
      if (content === null || type === null) throw problem('picture_not_found')
      reply.header('content-security-policy', POLICY).header('x-content-type-options', 'nosniff')
      return reply.header('cache-control', 'private, max-age=300').type(type).send(content)
    })
  }
