// PUT /problems/{problem_id}: a package, as a zip. It goes to disk as it comes, however large it is allowed to be.
import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Deps } from '../../../core/door.ts'
import { TooLarge } from '../../../core/files/file-store.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { ownerIdOf, requireRole } from '../../../core/http/auth/guard.ts'
import { HttpError } from '../../../core/http/errors/http-error.ts'
import { ADMIN_REFUSALS, problem } from '../errors.ts'
import { importStream, isProblemId, type ImportDeps } from './import-problem.ts'
import { MEMORY_MB_RANGE, TIME_SEC_RANGE } from '../package/limits.ts'
import { PackageError } from '../package/package.ts'
import { receiveUpload } from './receive-upload.ts'

const BODY_TIMEOUT_MS = 10 * 60_000

const Imported = Type.Object({ problem_id: Type.String(), title: Type.String(), tests: Type.Integer() })
const Query = Type.Object({
  time_limit: Type.Optional(Type.Number({ ...TIME_SEC_RANGE, description: 'Seconds, for an archive of tests.' })),
  memory_limit: Type.Optional(Type.Number({ ...MEMORY_MB_RANGE, description: 'MB, for an archive of tests.' })),
})
const ProblemPath = Type.Object({ problem_id: Type.String({ maxLength: 512 }) })

export const putProblemRoute =
  ({ identity, importing }: Pick<Deps, 'identity'> & { importing: ImportDeps }): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('application/zip', (_request, body, done) => done(null, body))
    const schema = {
      tags: ['judge'],
      security: SECURED,
      summary: 'Import a problem package or an archive of tests (a zip) under this id, or replace it.',
      consumes: ['application/zip'],
      params: ProblemPath,
      querystring: Query,
      response: { 200: Imported, 201: Imported, ...ADMIN_REFUSALS },
    }
    const config = { bodyTimeoutMs: BODY_TIMEOUT_MS }
    const onRequest = requireRole(identity, 'ADMIN')

    app.put('/problems/:problem_id', { schema, config, onRequest }, async (request, reply) => {
      const { problem_id: problemId } = request.params
      if (!isProblemId(problemId)) throw problem('invalid_problem_id')
      if (!(request.body instanceof Readable)) throw problem('invalid_package', 'The body must be a zip.')
      const tooLarge = () =>
        new HttpError(
          413,
          'too_large',
          `A package has at most ${importing.bytesMax} bytes (PROBLEM_PACKAGE_MAX_BYTES).`,
        )
      if (Number(request.headers['content-length']) > importing.bytesMax) throw tooLarge()
      try {
        const accountId = ownerIdOf(request)
        const limits = { timeSec: request.query.time_limit, memoryMb: request.query.memory_limit }
        const { body, signal } = receiveUpload(request.raw, reply.raw)
        const target = { problemId, accountId, limits, signal }
        const { title, tests, created } = await importStream(importing, body, target)
        return await reply.code(created ? 201 : 200).send({ problem_id: problemId, title, tests })
      } catch (error) {
        if (error instanceof PackageError) throw problem('invalid_package', error.message)
        if (error instanceof TooLarge) throw tooLarge()
        throw error
      }
    })
  }
