// The challenge door: what its promise (signed, once, on disk) costs over a route that does less, and how long a challenge
// takes from the request to the stored result.
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describeMachine } from '../machine.ts'
import { startPostgres, type PostgresServer } from '../servers/postgres.ts'
import type { Suite } from '../suite.ts'
import type { Teardown } from '../teardown.ts'
import { measureAccept, measureSteady, type Accepting } from './accept.ts'
import { measureEndToEnd } from './end-to-end.ts'
import { OPTIONS_HELP, parseOptions, type Options } from './options.ts'
import { brokenPromises } from './promises.ts'
import { jsonOf, textOf, type Results } from './report.ts'
import { forkServer, type PgAt, type ServerProcess } from './server-process.ts'
import { settingsFor } from './settings.ts'
import type { Variant } from './variants.ts'

export const challengeSuite: Suite = {
  name: 'challenge',
  summary: 'POST /solve against routes that do less, at its limit and at a steady rate; and end to end',
  options: OPTIONS_HELP,

  async run(args, teardown) {
    const options = parseOptions(args)
    const folder = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
    teardown.add(() => rm(folder, { recursive: true, force: true }))
    const postgres = await startPostgres(folder, teardown)
    const results: Results = { accept: new Map(), steady: new Map(), endToEnd: [] }

    for (let repetition = 0; repetition < options.repetitions; repetition += 1) {
      await measureAll({ postgres, teardown, options, results, repetition })
    }
    const machine = describeMachine({ postgresVersion: postgres.version, redisVersion: 'not used' })
    const outcome = { machine, settings: postgres.settings, options, results }
    console.log(textOf(outcome))
    if (options.jsonFile !== null) await writeFile(options.jsonFile, `${JSON.stringify(jsonOf(outcome), null, 2)}\n`)
    const broken = options.checks ? brokenPromises(results) : []
    if (broken.length > 0) throw new Error(`Worse than docs/performance.md promises:\n${broken.join('\n')}`)
  },
}

interface Round {
  postgres: PostgresServer
  teardown: Teardown
  options: Options
  results: Results
  repetition: number
}

async function measureAll({ postgres, teardown, options, results, repetition }: Round): Promise<void> {
  const { variants, measures } = options
  const inTurn = [...variants.slice(repetition % variants.length), ...variants.slice(0, repetition % variants.length)]
  const say = (what: string, value: string) =>
    console.error(`${repetition + 1}/${options.repetitions}  ${what}  ${value}`)

  for (const measure of measures) {
    if (measure === 'end-to-end') continue
    const take = measure === 'accept' ? measureAccept : measureSteady
    for (const variant of inTurn) {
      const figures = await onNewServer(postgres, teardown, variant, ({ port, pid }) =>
        take(port, options, { server: pid, postgres: postgres.pid }),
      )
      note(results[measure], variant, figures)
      say(
        `${measure} ${variant}`,
        `${figures.perSecond.toFixed(0)}/s  p99 ${figures.p99.toFixed(1)} ms  ${processorOf(figures)}`,
      )
    }
  }
  if (!measures.includes('end-to-end')) return
  const perSecond = await onNewServer(postgres, teardown, 'door', (challenger) =>
    onNewServer(postgres, teardown, 'up', (solver) => measureEndToEnd({ ...options, challenger, solver })),
  )
  results.endToEnd.push(perSecond)
  say('end-to-end', `${perSecond.toFixed(0)}/s`)
}

async function onNewServer<T>(
  postgres: PostgresServer,
  teardown: Teardown,
  variant: Variant | 'up',
  measure: (server: ServerProcess & { at: PgAt }) => Promise<T>,
): Promise<T> {
  const database = `bench_${randomUUID().replaceAll('-', '')}`
  await postgres.createDatabase(database)
  const { host, port, user } = postgres
  const at = { host, port, user, database }
  const server = await forkServer({ variant, settings: settingsFor(at) }, teardown)
  try {
    return await measure({ ...server, at })
  } finally {
    await server.stop()
    await postgres.dropDatabase(database)
  }
}

const processorOf = ({ micros }: Accepting): string =>
  micros === undefined ? '' : `processor µs: ${Object.entries(micros).flat().join(' ')}`

function note(results: Map<Variant, Accepting[]>, variant: Variant, figures: Accepting): void {
  results.set(variant, [...(results.get(variant) ?? []), figures])
}
