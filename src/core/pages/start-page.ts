// `/`: version, storage, doors and job counts. It shows no single job, no account and no secret.
import { createHash } from 'node:crypto'
import type { FastifyPluginAsync } from 'fastify'
import type { Clock } from '../clock.ts'
import type { JobCount } from '../ledger/read.ts'
import { html, Html } from './html.ts'
import { STYLE } from './style.ts'

// Anyone may ask, as often as they like: requests within this time share one count.
const COUNTS_KEPT_MS = 2000

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')
const CSP = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`

export interface DoorState {
  name: string
  about: string
  state: 'open' | 'closed'
  /** The page of an open door that has one. */
  page: string | null
}

export interface StartPageDeps {
  ledger: { count(): Promise<JobCount[]> }
  clock: Clock
  version: string
  /** Milliseconds since 1970. */
  startedAt: number
  about: { database: string; feed: string; files: string }
  doors: readonly DoorState[]
}

export const startPage =
  (deps: StartPageDeps): FastifyPluginAsync =>
  async (app) => {
    const counts = keptFor(COUNTS_KEPT_MS, () => deps.ledger.count())
    app.get('/', { schema: { hide: true } }, async (_request, reply) => {
      const page = render(deps, await counts())
      return reply
        .header('content-security-policy', CSP)
        .header('cache-control', 'no-store')
        .type('text/html; charset=utf-8')
        .send(`<!doctype html>\n${page.text}`)
    })
  }

const render = (deps: StartPageDeps, counts: readonly JobCount[]): Html =>
  html`<html lang="en">
    <head>
      <meta charset="utf-8" />
      <meta name="viewport" content="width=device-width, initial-scale=1" />
      <title>Reeve</title>
      ${styleElement}
    </head>
    <body>
      <header>
        <h1>Reeve</h1>
        <p>Hands out work and accepts each result exactly once, whoever does the work.</p>
      </header>
      <main>
        <h2>What runs here</h2>
        <dl>
          <dt>Version</dt>
          <dd>${deps.version}</dd>
          <dt>Up for</dt>
          <dd>${duration(deps.clock.now() - deps.startedAt)}</dd>
          <dt>Database</dt>
          <dd>${deps.about.database}</dd>
          <dt>Feed and events</dt>
          <dd>${deps.about.feed}</dd>
          <dt>Files</dt>
          <dd>${deps.about.files}</dd>
        </dl>
        <h2>Doors</h2>
        <ul class="doors">
          ${deps.doors.map(doorItem)}
        </ul>
        <h2>Jobs</h2>
        ${jobTable(counts)}
        <h2>More</h2>
        <nav aria-label="More">
          <ul>
            <li><a href="/docs">API documentation</a></li>
            <li><a href="/docs/json">OpenAPI description</a></li>
            <li><a href="/healthz">Alive?</a></li>
            <li><a href="/readyz">Ready?</a></li>
            <li><a href="/metrics">Metrics</a></li>
          </ul>
        </nav>
      </main>
      <footer><p>Accepted means on disk. Work may run more than once; its result is recorded once.</p></footer>
    </body>
  </html> `

// In one piece: one more space would change the hash in the policy.
const styleElement = new Html(`<style>${STYLE}</style>`)

const doorItem = ({ name, about, state, page }: DoorState): Html =>
  html`<li>
    <div class="row">
      <span class="name">${name}</span><span class="state${state === 'open' ? ' open' : ''}">${state}</span>
    </div>
    <p>${about}</p>
    ${page === null ? '' : html`<p><a href="${page}">Work at the ${name}</a></p>`}
  </li>`

function jobTable(counts: readonly JobCount[]): Html {
  const kinds = [...new Set(counts.map(({ kind }) => kind))].sort()
  if (kinds.length === 0) return html`<p>Nothing is waiting, running or dead.</p>`
  const countOf = (kind: string, state: string) =>
    counts.find((count) => count.kind === kind && count.state === state)?.count ?? 0
  const row = (kind: string) =>
    html`<tr>
      <td>${kind}</td>
      <td>${countOf(kind, 'pending')}</td>
      <td>${countOf(kind, 'processing')}</td>
      <td>${countOf(kind, 'dead')}</td>
    </tr>`
  return html`<table>
    <thead>
      <tr>
        <th scope="col">Kind</th>
        <th scope="col">Pending</th>
        <th scope="col">Processing</th>
        <th scope="col">Dead</th>
      </tr>
    </thead>
    <tbody>
      ${kinds.map(row)}
    </tbody>
  </table>`
}

function duration(ms: number): string {
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 1) return 'less than a minute'
  const parts = [
    [Math.floor(minutes / 1440), 'd'],
    [Math.floor(minutes / 60) % 24, 'h'],
    [minutes % 60, 'min'],
  ] as const
  return parts.flatMap(([count, unit]) => (count > 0 ? [`${count} ${unit}`] : [])).join(' ')
}

function keptFor<T>(ms: number, make: () => Promise<T>): () => Promise<T> {
  let current: { at: number; value: Promise<T> } | null = null
  return () => {
    const now = performance.now()
    if (current === null || now - current.at > ms) current = { at: now, value: make() }
    return current.value
  }
}
