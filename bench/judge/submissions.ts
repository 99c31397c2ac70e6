// The judge as its users meet it: a server as `reeve up` starts it, with its embedded PostgreSQL and everything durable, and
// submissions over HTTP to a problem of ten tests, each waited for until its verdict is recorded.

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ReeveClient } from '@reeve/sdk'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { zipFolder } from '../../src/doors/judge/package/zip-folder.ts'
import { spreadOf, type Spread } from '../statistics.ts'
import { table } from '../table.ts'
import type { Teardown } from '../teardown.ts'
import type { Options } from './options.ts'

const SERVER = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))
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
}

const C = '#include <stdio.h>\nint main(void) { long n; scanf("%ld", &n); printf("%ld\\n", 2 * n); }\n'
const CPP = '#include <bits/stdc++.h>\nint main() { long n; std::cin >> n; std::cout << 2 * n << "\\n"; }\n'

const WAYS: readonly Way[] = [
  { name: 'C, compiled before', language: 'c', source: () => C },
  { name: 'C, compiled each time', language: 'c', source: (n) => `${C}// ${n}\n` },
  { name: 'C++ with bits/stdc++.h, compiled each time', language: 'cpp', source: (n) => `${CPP}// ${n}\n` },
  { name: 'Python, checked before', language: 'python3', source: () => 'print(2 * int(input()))\n' },
]

export async function measureSubmissions(
  options: Pick<Options, 'submissions' | 'repetitions'>,
  folder: string,
  teardown: Teardown,
) {
  const reeve = await startServer(join(folder, 'server'), teardown)
  await reeve.judge.putProblem(PROBLEM, await packageBytes(folder))
  const rates = new Map<Way, number[]>(WAYS.map((way) => [way, []]))
  const alone = new Map<Way, number[]>(WAYS.map((way) => [way, []]))
  let number = 0

  for (const way of WAYS) await judgeMany(reeve, way, WARM_UP, () => (number += 1))
  for (let repetition = 0; repetition < options.repetitions; repetition += 1) {
    for (const way of WAYS) {
      const started = performance.now()
      await judgeMany(reeve, way, options.submissions, () => (number += 1))
      rates.get(way)?.push((options.submissions / (performance.now() - started)) * 1000)
      const single = performance.now()
      await judgeOne(reeve, way, (number += 1))
      alone.get(way)?.push(performance.now() - single)
      const rate = rates.get(way)?.at(-1)?.toFixed(1)
      console.error(`${repetition + 1}/${options.repetitions}  ${way.name}  ${rate} submissions/s`)
    }
  }
  const figures = WAYS.map((way) => ({
    way: way.name,
    submissionsPerSecond: spreadOf(rates.get(way) ?? []),
    oneAloneMs: spreadOf(alone.get(way) ?? []),
  }))
  const title = `Submissions to a problem of ${TESTS} tests, over HTTP, ${AT_ONCE} at once, verdicts on disk (median, least–most)`
  const rows = figures.map((one) => [one.way, shown(one.submissionsPerSecond, 1), shown(one.oneAloneMs, 0)])
  return { text: `${title}\n\n${table(['', 'submissions/s', 'one alone, ms'], rows)}`, json: figures }
}

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
  const { PATH = '', HOME = '' } = process.env
  const server = spawn(process.execPath, ['--max-semi-space-size=64', SERVER, 'up'], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: {
      PATH,
      HOME,
      REEVE_DATA_DIR: dataDir,
      SERVER_PORT: '0',
      LOG_LEVEL: 'warn',
      DOORS: 'judge',
      JUDGE_SAMPLE_PROBLEMS: 'false',
      SUBMIT_RATE_LIMIT_MAX: '1000000',
      REEVE_ADMIN_USERNAME: ADMIN.username,
      REEVE_ADMIN_PASSWORD: ADMIN.password,
    },
  })
  teardown.add(async () => {
    const gone = once(server, 'exit')
    if (server.exitCode === null && server.kill('SIGTERM')) await gone
  })
  return ReeveClient.login({ url: await addressOf(server), ...ADMIN })
}

async function addressOf({ stderr }: ChildProcess): Promise<string> {
  if (stderr === null) throw new Error('The server has no standard error.')
  for await (const line of createInterface({ input: stderr })) {
    const url = /ready at (\S+)/.exec(line)?.[1]
    if (url !== undefined) return url
    console.error(line)
  }
  throw new Error('The server ended before it was ready.')
}
