// /console/desk: the operator's page: plain HTML, CSS and modules, read once from this folder. It uses the desk's API with the
// operator's own token.
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import type { Desk } from '../desk.ts'
import { hostsOf } from '../frame/frame-headers.ts'

export const CONSOLE_PATH = '/console/desk'

const PAGE = 'desk.html'
const PARTS = [
  'desk.css',
  'desk.js',
  'api.js',
  'live.js',
  'lock.js',
  'page.js',
  'queue.js',
  'solution.js',
  'task.js',
  'view.js',
]

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
}

/** Pictures come from the API (blob:) and from a task's form (data:). No string ever becomes markup or code. */
const policy = (frame: string): string =>
  [
    `default-src 'none'`,
    `script-src 'self'`,
    `style-src 'self'`,
    `connect-src 'self'`,
    `img-src blob: data:`,
    `frame-src ${frame}`,
    `frame-ancestors 'none'`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `require-trusted-types-for 'script'`,
    `trusted-types 'none'`,
  ].join('; ')

export const consoleRoutes =
  ({ settings, config }: Pick<Desk, 'settings' | 'config'>): FastifyPluginAsync =>
  async (app) => {
    const read = (name: string) => readFile(new URL(name, import.meta.url))
    const give = (reply: FastifyReply, name: string, content: Buffer) =>
      reply
        .header('cache-control', 'no-cache')
        .type(TYPES[extname(name)] ?? '')
        .send(content)

    const page = await read(PAGE)
    app.get(CONSOLE_PATH, { schema: { hide: true } }, async (request, reply) => {
      const { frame } = hostsOf(request, settings.FRAME_HOST, config)
      return give(reply.header('content-security-policy', policy(frame)), PAGE, page)
    })
    for (const name of PARTS) {
      const content = await read(name)
      app.get(`${CONSOLE_PATH}/${name}`, { schema: { hide: true } }, async (_request, reply) =>
        give(reply, name, content),
      )
    }
  }
