// GET /worker.mjs and GET /worker.py: the one file that a worker's machine needs. scripts/bundle-worker.js makes them.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { FastifyPluginAsync } from 'fastify'
import { Type } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { HttpError } from '../../../core/http/errors/http-error.ts'
import { VERSION } from '../../../core/version.ts'

const BUILT = new URL('../../../../dist/worker/', import.meta.url)
const FILES = { 'worker.mjs': 'text/javascript; charset=utf-8', 'worker.py': 'text/x-python; charset=utf-8' }

export const workerFileRoutes: FastifyPluginAsync = async (app) => {
  for (const [name, type] of Object.entries(FILES)) {
    const schema = {
      tags: ['pool'],
      summary: `A worker in one file, ${name}, with its SHA-256 in Content-Digest.`,
      produces: [type],
      response: { 200: Type.String({ description: 'The program.' }), ...refusals(404) },
    }
    app.get(`/${name}`, { schema }, async (_request, reply) => {
      const bytes = await readFile(new URL(name, BUILT)).catch(() => null)
      if (bytes === null) throw new HttpError(404, 'not_found', 'The file is not built: npm run build')
      const digest = createHash('sha256').update(bytes)
      return reply
        .type(type)
        .header('cache-control', 'no-cache')
        .header('content-digest', `sha-256=:${digest.digest('base64')}:`)
        .header('x-reeve-version', VERSION)
        .send(bytes)
    })
  }
}
