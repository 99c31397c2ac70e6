// The judge as its users meet it: a server as `reeve up` starts it, with its embedded PostgreSQL and everything durable, and
// submissions over HTTP to a problem of ten tests, each waited for until its verdict is recorded. Beside them, in turns, what they
// cannot do without (floors.ts).

import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { ReeveClient } from '@reeve/sdk'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { zipFolder } from '../../src/doors/judge/package/zip-folder.ts'
import { startReeve } from '../servers/reeve.ts'
import { percentile, spreadOf, type Spread } from '../statistics.ts'
import { table } from '../table.ts'
import type { Teardown } from '../teardown.ts'
import { compilerFloor, interpreterFloor, openFloorField, type Floor, type FloorField } from './floors.ts'
import type { Part } from './suite.ts'

const PROBLEM = 'ten-tests'
const TESTS = 10
const AT_ONCE = 8
const WARM_UP = 8
const WAIT_MS = 120_000
const ADMIN = { username: 'bench', password: 'bench password' }

interface Way {
  name: string
  language: string
  /** The source of the n-th submission: another one each time is compiled each time. */
  source(n: number): string
  /** What it is compared with: what it cannot do without. */
  floor?: (field: FloorField, source: Way['source']) => Promise<Floor>
}

const C = '#include <stdio.h>\nint main(void) { long n; scanf("%ld", &n); printf("%ld\\n", 2 * n); }\n'
const CPP = '#include <bits/stdc++.h>\nint main() { long n; std::cin >> n; std::cout << 2 * n << "\\n"; }\n'

const WAYS: readonly Way[] = [
  { name: 'C, compiled before', language: 'c', source: () => C },
  {
    name: 'C, compiled each time',
    language: 'c',
    source: (n) => `${C}// ${n}\n`,
    floor: (field, source) => compilerFloor(field, 'c', source),
  },
  {
    name: 'C++ with bits/stdc++.h, compiled each time',
    language: 'cpp',
    source: (n) => `${CPP}// ${n}\n`,
    floor: (field, source) => compilerFloor(field, 'cpp', source),
  },
  {
    name: 'Python, checked before',
    language: 'python3',
    source: () => 'print(2 * int(input()))\n',
    floor: (field) => interpreterFloor(field, 'python3', { args: ['-c', 'pass'], times: TESTS }),
  },
]

export const measureSubmissions: Part = async (options, folder, teardown) => {
  const dataDir = join(folder, 'server')
  const reeve = await startServer(dataDir, teardown)
  await reeve.judge.putProblem(PROBLEM, await packageBytes(folder))
  const ways = WAYS.filter(({ language }) => options.languages.includes(language))
  let number = 0
  const next = () => (number += 1)
  for (const way of ways) await judgeMany(reeve, way, WARM_UP, next)
  const headersFolder = join(dataDir, 'judge', 'headers')
  const field = await openFloorField({ folder, headersFolder, slots: availableParallelism() }, teardown)
  const measured: Measured[] = []
  for (const way of ways)
    measured.push({ way, floor: (await way.floor?.(field, way.source)) ?? null, rates: [], alone: [], floors: [] })

  for (let repetition = 0; repetition < options.repetitions; repetition += 1) {
    for (const { way, floor, rates, alone, floors } of measured) {
      const started = performance.now()
      await judgeMany(reeve, way, options.submissions, next)
      rates.push((options.submissions / (performance.now() - started)) * 1000)
      const single = performance.now()
      await judgeOne(reeve, way, next())
      alone.push(performance.now() - single)
      if (floor !== null) floors.push(await floor.measure(options.submissions))
      console.error(
        `${repetition + 1}/${options.repetitions}  ${way.name}  ${rates.at(-1)?.toFixed(1)} submissions/s` +
          (floor === null ? '' : `, ${floor.title} alone ${floors.at(-1)?.toFixed(1)}/s`),
      )
    }
  }
  return { text: textOf(measured), json: measured.map(jsonOf) }
}

interface Measured {
  way: Way
  floor: Floor | null
  rates: number[]
  alone: number[]
  floors: number[]
}

function textOf(measured: readonly Measured[]): string {
  const title = `Submissions to a problem of ${TESTS} tests, over HTTP, ${AT_ONCE} at once, verdicts on disk (median, least–most)`
  const rows = measured.map(({ way, floor, rates, alone, floors }) => {
    const alike = floor === null ? ['', ''] : [`${floor.title}: ${shown(spreadOf(floors), 1)}`, ratioOf(floors, rates)]
    return [way.name, shown(spreadOf(rates), 1), shown(spreadOf(alone), 0), ...alike]
  })
  const heads = ['', 'submissions/s', 'one alone, ms', 'alone in a box, /s', 'time of a submission to that']
  return `${title}\n\n${table(heads, rows)}`
}

/** Of times: the median over repetitions, each compared with itself. */
const ratioOf = (floors: readonly number[], rates: readonly number[]): string =>
  percentile(
    floors.map((floor, repetition) => floor / (rates[repetition] ?? NaN)),
    50,
  ).toFixed(2)

const jsonOf = ({ way, rates, alone, floors }: Measured) => ({
  way: way.name,
  submissionsPerSecond: spreadOf(rates),
  oneAloneMs: spreadOf(alone),
  ...(floors.length === 0 ? {} : { aloneInABoxPerSecond: spreadOf(floors) }),
})

const shown = ({ median, min, max }: Spread, digits: number): string =>
  `${median.toFixed(digits)} (${min.toFixed(digits)}–${max.toFixed(digits)})`

async function judgeMany(reeve: ReeveClient, way: Way, count: number, next: () => number): Promise<void> {
  let left = count
  const judgeSome = async () => {
    while (left > 0) {
      left -= 1
      await judgeOne(reeve, way, next())
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, judgeSome))
}

async function judgeOne(reeve: ReeveClient, { language, source }: Way, n: number): Promise<void> {
  const { job_id: jobId } = await reeve.judge.submit({ problem_id: PROBLEM, language, code: source(n) })
  const { verdict, tests, reason } = await reeve.judge.wait(jobId, { timeoutMs: WAIT_MS })
  if (verdict !== 'AC' || tests?.length !== TESTS) throw new Error(`${language}: ${verdict} ${reason ?? ''}`)
}

async function packageBytes(folder: string): Promise<Uint8Array<ArrayBuffer>> {
  const own = join(folder, PROBLEM)
  await mkdir(join(own, 'data', 'secret'), { recursive: true })
  await writeFile(join(own, 'problem.yaml'), 'name: Ten tests\nlimits: {time_limit: 2, memory: 256}\n')
  for (let n = 1; n <= TESTS; n += 1) {
    await writeFile(join(own, 'data', 'secret', `${n}.in`), `${n}\n`)
    await writeFile(join(own, 'data', 'secret', `${n}.ans`), `${2 * n}\n`)
  }
  const zip = join(folder, `${PROBLEM}.zip`)
  await zipFolder(own, zip)
  return new Uint8Array(await readFile(zip))
}

async function startServer(dataDir: string, teardown: Teardown): Promise<ReeveClient> {
  const env = {
    DOORS: 'judge',
    JUDGE_SAMPLE_PROBLEMS: 'false',
    SUBMIT_RATE_LIMIT_MAX: '1000000',
    REEVE_ADMIN_USERNAME: ADMIN.username,
    REEVE_ADMIN_PASSWORD: ADMIN.password,
  }
  const { url } = await startReeve({ dataDir, env }, teardown)
  return ReeveClient.login({ url, ...ADMIN })
}
