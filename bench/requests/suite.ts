// `npm run bench -- requests`: what one request of each door costs when it is alone, and beside how much finished work.
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { openDatabase } from '../../src/core/db/database.ts'
import { ROLES } from '../../src/core/identity/role.ts'
import { describeMachine, machineLine } from '../machine.ts'
import { pick, positive } from '../options.ts'
import { startReeve, type Reeve } from '../pool/server.ts'
import { COUNTING } from '../pool/statements.ts'
import { addAccount } from '../servers/account.ts'
import { startPostgres } from '../servers/postgres.ts'
import type { Suite } from '../suite.ts'
import type { Teardown } from '../teardown.ts'
import { openAsk } from './client.ts'
import { openCounting } from './counting.ts'
import { ARENA_ENV, arenaSteps } from './doors/arena.ts'
import { challengeSteps, SECRET } from './doors/challenge.ts'
import { deskSteps } from './doors/desk.ts'
import { judgeSteps } from './doors/judge.ts'
import { poolSteps } from './doors/pool.ts'
import { fillWithFinished } from './fill.ts'
import { measureSteps, type StepCost } from './measure.ts'
import { costTable, growthTable } from './report.ts'
import type { Scene, Steps } from './scene.ts'

const COUNT = 50
const DATABASE = 'requests'

const DOORS = {
  judge: judgeSteps,
  challenge: challengeSteps,
  pool: poolSteps,
  desk: deskSteps,
  arena: arenaSteps,
} as const satisfies Record<string, Steps>
const NAMES = ['judge', 'challenge', 'pool', 'desk', 'arena'] as const

export const requestsSuite: Suite = {
  name: 'requests',
  summary:
    'what one request of each door costs alone: statements, flushes, log, bytes, processor; and how it grows with data',
  options: `\
  --doors a,b        (${NAMES.join(', ')})
  --count N          of each request (${COUNT})
  --finished N       measure again beside N finished jobs, a fifth of them of each door`,

  async run(args, teardown) {
    const { values } = parseArgs({
      args,
      options: { doors: { type: 'string' }, count: { type: 'string' }, finished: { type: 'string' } },
    })
    const count = positive('--count', values.count) ?? COUNT
    const finished = positive('--finished', values.finished)
    const doors = pick('--doors', values.doors, NAMES)
    const { scene, reeve } = await openScene(teardown, count)
    const counting = await openCounting(scene.database)
    const measure = async (): Promise<StepCost[]> => {
      const costs: StepCost[] = []
      for (const door of doors) costs.push(...(await measureSteps(DOORS[door], { scene, reeve, counting, count })))
      return costs
    }

    const few = await measure()
    const machine = describeMachine({ postgresVersion: reeve.postgres.version, redisVersion: 'not used' })
    console.log(`\nMachine: ${machineLine(machine)}.\nPostgreSQL: ${reeve.postgres.settings}.\n\n${costTable(few)}\n`)
    if (finished === undefined) return
    await fillWithFinished(scene.database, finished, scene.account.accountId)
    console.log(`${growthTable(few, await measure(), finished)}\n`)
  },
}

async function openScene(teardown: Teardown, count: number): Promise<{ scene: Scene; reeve: Reeve }> {
  const folder = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
  teardown.add(() => rm(folder, { recursive: true, force: true }))
  await mkdir(join(folder, 'reeve'))
  const postgres = await startPostgres(folder, teardown, { settings: COUNTING })
  const env = {
    DOORS: NAMES.join(','),
    REEVE_DATA_DIR: join(folder, 'reeve'),
    SHARED_SECRET_KEY: SECRET,
    ALLOW_INSECURE_CALLBACKS: 'true',
    OUTBOUND_ALLOW_CIDRS: '127.0.0.1/32',
    JUDGE_SAMPLE_PROBLEMS: 'false',
    SUBMIT_RATE_LIMIT_MAX: '1000000',
    CAPTCHA_OPERATOR_RATE_LIMIT: '1000000',
    CAPTCHA_DOMAIN_RATE_LIMIT: '1000000',
    QUOTA_JOBS_WAITING: String(10_000 + count),
    ...ARENA_ENV,
  }
  const reeve = await startReeve(postgres, { database: DATABASE, build: '.', nodeOptions: [], env }, teardown)
  const { host, port, user } = postgres
  const database = openDatabase({ host, port, user, database: DATABASE }, () => {})
  teardown.add(() => database.close())
  const account = await addAccount(database, 'bench', ROLES)
  const ask = openAsk(reeve.url, account.token, teardown)
  return { reeve, scene: { url: reeve.url, folder, database, account, ask } }
}
