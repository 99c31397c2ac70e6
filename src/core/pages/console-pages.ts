// The console: `/` and every path under /console/ is its one page, which draws the page that the path names. Its files are
// built by Vite into console/dist, compressed, with names that change with their content.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify'
import type { OpenDoor } from '../door.ts'
import { HttpError } from '../http/errors/http-error.ts'
import { html } from './html.ts'
import { STYLE_ELEMENT, STYLE_HASH } from './style.ts'

const BUILT = fileURLToPath(new URL('../../../console/dist/', import.meta.url))
const PAGE = 'index.html'
const PATHS = ['/', '/console/', '/console/*']
const YEAR_MS = 365 * 86_400_000

export interface ConsoleDeps {
  doors: readonly OpenDoor[]
  /** Tests name another. */
  folder?: string
}

export const consolePages =
  ({ doors, folder = BUILT }: ConsoleDeps): FastifyPluginAsync =>
  async (app) => {
    const schema = { hide: true }
    if (!existsSync(`${folder}${PAGE}`)) {
      for (const url of PATHS) app.get(url, { schema }, sendNotBuilt)
      return
    }

    await app.register(fastifyStatic, { root: folder, serve: false, preCompressed: true, cacheControl: false })
    const sendPage = async (request: FastifyRequest, reply: FastifyReply) =>
      reply
        .header('content-security-policy', policy(doors.flatMap(({ opened }) => opened.frameOrigin?.(request) ?? [])))
        .header('cache-control', 'no-cache')
        .header('vary', 'Accept-Encoding')
        .sendFile(PAGE)
    for (const url of PATHS) app.get(url, { schema }, sendPage)

    app.get<{ Params: { name: string } }>('/console/assets/:name', { schema }, async (request, reply) => {
      const { name } = request.params
      // A page of an older version asks for files of its own build: no page may come in their place.
      if (!/^[\w.-]+$/.test(name) || !existsSync(`${folder}assets/${name}`)) {
        throw new HttpError(404, 'not_found', 'Not Found')
      }
      return reply
        .header('vary', 'Accept-Encoding')
        .sendFile(`assets/${name}`, { cacheControl: true, immutable: true, maxAge: YEAR_MS })
    })
  }

/** No string ever becomes markup, style or code. Pictures come from the API (blob:) and from forms (data:). */
const policy = (frames: readonly string[]): string =>
  [
    `default-src 'none'`,
    `script-src 'self'`,
    `style-src 'self'`,
    `font-src 'self'`,
    `connect-src 'self'`,
    `img-src 'self' blob: data:`,
    `worker-src 'self'`,
    `manifest-src 'self'`,
    `frame-src ${frames.length === 0 ? `'none'` : frames.join(' ')}`,
    `frame-ancestors 'none'`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `require-trusted-types-for 'script'`,
    `trusted-types 'none'`,
  ].join('; ')

const NOT_BUILT_POLICY = `default-src 'none'; style-src '${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

const sendNotBuilt = async (_request: FastifyRequest, reply: FastifyReply) =>
  reply
    .code(503)
    .header('content-security-policy', NOT_BUILT_POLICY)
    .header('cache-control', 'no-store')
    .type('text/html; charset=utf-8')
    .send(`<!doctype html>\n${notBuilt.text}`)

const notBuilt = html`<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Reeve</title>
    ${STYLE_ELEMENT}
  </head>
  <body>
    <main>
      <h1>The console is not built</h1>
      <p>The server runs, and its API answers. The files of the console are missing from <code>console/dist</code>.</p>
      <p>Run <code>npm run build</code> and load this page again, or use <a href="/docs">the API</a>.</p>
    </main>
  </body>
</html>`
