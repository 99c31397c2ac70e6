// The console's server side: a list of a million jobs, and many open overview pages.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine, machineLine } from '../machine.ts'
import { pick, positive } from '../options.ts'
import { startReeve, type Reeve } from '../pool/server.ts'
import { COUNTING } from '../pool/statements.ts'
import { startPostgres } from '../servers/postgres.ts'
import { above } from '../promised.ts'
import { spreadOf } from '../statistics.ts'
import type { Suite } from '../suite.ts'
import { table } from '../table.ts'
import type { Teardown } from '../teardown.ts'
import { measureFirstPage } from './first-page.ts'
import { measureJobList } from './jobs.ts'
import { measureOverview } from './overview.ts'

const MEASURES = ['page', 'jobs', 'overview'] as const
const JOBS = 1_000_000
const PAGES = 200
const SECONDS = 30
const QUERY_SHOWN = 60

/** What docs/performance.md promises. */
const PROMISED = { firstPageMs: 2000, statementMs: 50, pagesPercent: 5 }

export const consoleSuite: Suite = {
  name: 'console',
  summary:
    'Until the first page can be used; the slowest statement of a list of a million jobs; what 200 open overview pages cost',
  options: `  --measures LIST   of ${MEASURES.join(',')} (all)
  --jobs N          in the list (${JOBS})
  --pages N         open overview pages (${PAGES})
  --seconds N       how long they are watched (${SECONDS})
  --check           ends with an error if a figure is worse than docs/performance.md promises`,

  async run(args, teardown) {
    const { values } = parseArgs({
      args,
      options: {
        measures: { type: 'string' },
        jobs: { type: 'string' },
        pages: { type: 'string' },
        seconds: { type: 'string' },
        check: { type: 'boolean', default: false },
      },
    })
    const measures = pick('--measures', values.measures, MEASURES)
    const folder = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
    teardown.add(() => rm(folder, { recursive: true, force: true }))
    const postgres = await startPostgres(folder, teardown, { settings: COUNTING })
    console.log(machineLine(describeMachine({ postgresVersion: postgres.version, redisVersion: 'not used' })))
    const env = { DOORS: 'pool,desk', QUOTA_SOCKETS: '100000' }
    const reeve = await startReeve(postgres, { database: 'console', build: '.', nodeOptions: [], env }, teardown)
    const broken = [
      ...(measures.includes('page') ? await firstPage(reeve, teardown) : []),
      ...(measures.includes('jobs') ? await jobs(reeve, positive('--jobs', values.jobs) ?? JOBS) : []),
      ...(measures.includes('overview')
        ? await overview(reeve, {
            pages: positive('--pages', values.pages) ?? PAGES,
            seconds: positive('--seconds', values.seconds) ?? SECONDS,
            teardown,
          })
        : []),
    ]
    await reeve.stop()
    for (const line of broken) console.log(line)
    if (values.check && broken.length > 0) throw new Error('Promises of docs/performance.md were not kept.')
  },
}

async function firstPage(reeve: Reeve, teardown: Teardown): Promise<string[]> {
  const times = await measureFirstPage(reeve, teardown)
  if (times === null) return ['first page: Chromium is not installed here.']
  const { median, min, max } = spreadOf(times)
  console.log(`\nFirst page, all cores busy: ${median.toFixed(0)} ms, from ${min.toFixed(0)} to ${max.toFixed(0)}`)
  return above('first page, ms', median, PROMISED.firstPageMs)
}

async function jobs(reeve: Reeve, count: number): Promise<string[]> {
  const { requests, statements } = await measureJobList(reeve, count)
  const rows = statements.map(({ query, calls, max_ms, mean_ms }) => [
    query.replaceAll(/\s+/g, ' ').trim().slice(0, QUERY_SHOWN),
    String(calls),
    `${mean_ms.toFixed(1)} ms`,
    `${max_ms.toFixed(1)} ms`,
  ])
  console.log(`\n${count} jobs, ${requests} requests\n`)
  console.log(table(['statement', 'runs', 'mean', 'slowest'], rows))
  return above('slowest statement, ms', statements[0]?.max_ms ?? 0, PROMISED.statementMs)
}

async function overview(reeve: Reeve, options: Parameters<typeof measureOverview>[1]): Promise<string[]> {
  const { server, postgres, messagesPerSec } = await measureOverview(reeve, options)
  const percent = (value: number) => `${value.toFixed(2)} %`
  console.log(`\n${options.pages} overview pages for ${options.seconds} s, ${messagesPerSec.toFixed(0)} messages/s\n`)
  console.log(
    table(
      ['of a core', 'without', 'with', 'cost'],
      [
        ['server', percent(server.without), percent(server.with), percent(server.with - server.without)],
        ['PostgreSQL', percent(postgres.without), percent(postgres.with), percent(postgres.with - postgres.without)],
      ],
    ),
  )
  return above('overview pages, % of a core of the server', server.with - server.without, PROMISED.pagesPercent)
}
