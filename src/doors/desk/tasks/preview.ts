// PUT and GET /tasks/{uuid}/preview: a screenshot from the program, shown to the operator beside the frame.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { refusals } from '../../../core/http/errors/detail.ts'
import { contentOf, SECURED } from '../../../core/http/routes/docs.ts'
import { HttpError } from '../../../core/http/errors/http-error.ts'
import type { FileStore } from '../../../core/files/file-store.ts'
import { openFolderStore } from '../../../core/files/folder-store.ts'
import type { Desk } from '../desk.ts'
import { taskNotFound } from '../errors.ts'
import { deskGuard, type GuardParts } from '../guard.ts'
import { imageType } from './image.ts'
import { findVisible, noteSeen, TaskPath } from './read-tasks.ts'
import { isCreator } from './task-view.ts'

const SET_PREVIEW = `
  update captcha_task set preview_type = $2, updated_at = clock_timestamp() where uuid = $1 and ended_at is null returning uuid`

const PREVIEW_BYTES_MAX = 2 * 1024 * 1024
const TYPES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp']
const CSP = `default-src 'none'; sandbox; frame-ancestors 'none'`

const Stored = Type.Object({ preview_path: Type.String(), bytes: Type.Integer() })

/** The common file store, unless CAPTCHA_PREVIEW_DIR names a folder. */
export const openPreviews = (files: FileStore, folder: string): FileStore =>
  folder === '' ? files : openFolderStore(folder)

export const previewKey = (uuid: string): string => `captcha/previews/${uuid}`

export const previewRoute =
  (parts: GuardParts & Pick<Desk, 'tasks' | 'previews' | 'database'>): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { tasks, previews, database, settings } = parts
    const path = '/api/v1/captcha/tasks/:uuid/preview'
    app.addContentTypeParser<Buffer>(
      TYPES,
      { parseAs: 'buffer', bodyLimit: PREVIEW_BYTES_MAX },
      async (_request: FastifyRequest, bytes: Buffer) => bytes,
    )

    app.put(
      path,
      {
        onRequest: deskGuard(parts, 'SCRAPER'),
        bodyLimit: PREVIEW_BYTES_MAX,
        schema: {
          tags: ['desk'],
          summary: 'Store a screenshot of at most 2 MB (PNG, JPEG, GIF or WebP) for my open task.',
          security: SECURED,
          consumes: TYPES,
          params: TaskPath,
          response: { 200: Stored, ...refusals(401, 403, 404, 409, 413, 415) },
        },
      },
      async (request) => {
        if (!settings.CAPTCHA_PREVIEW_ENABLED) throw new HttpError(403, 'forbidden', 'Previews are switched off')
        const task = await tasks.find(request.params.uuid)
        if (task === null || !isCreator(request, task)) throw taskNotFound()
        if (task.ended_at !== null) throw new HttpError(409, 'conflict', `Task is ${task.status}`)
        const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
        const type = imageType(bytes)
        if (type === null) throw new HttpError(415, 'unsupported_media_type', 'This is not a PNG, JPEG, GIF or WebP')
        await previews.put(previewKey(task.uuid), bytes, { bytesMax: PREVIEW_BYTES_MAX, contentType: type })
        const updated = await database.query(SET_PREVIEW, [task.uuid, type])
        if (updated.length === 0) await previews.delete(previewKey(task.uuid)) // the task ended meanwhile
        return { preview_path: path.replace(':uuid', task.uuid), bytes: bytes.length }
      },
    )

    app.get(
      path,
      {
        onRequest: deskGuard(parts, 'OPERATOR', 'SCRAPER', 'ADMIN'),
        schema: {
          tags: ['desk'],
          summary: 'The screenshot of a task.',
          security: SECURED,
          params: TaskPath,
          response: { 200: contentOf('The picture.', ...TYPES), ...refusals(401, 403, 404) },
        },
      },
      async (request, reply) => {
        const task = await findVisible(tasks, request, request.params.uuid)
        const content = task.preview_type === null ? null : await previews.get(previewKey(task.uuid))
        if (content === null) throw new HttpError(404, 'not_found', 'The task has no preview')
        await noteSeen(database, request, task)
        return reply
          .header('content-security-policy', CSP)
          .header('cache-control', 'private, no-store')
          .type(task.preview_type ?? 'application/octet-stream')
          .send(content)
      },
    )
  }
