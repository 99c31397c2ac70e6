// `--judge`: a job is a submission, judged here in the judge's sandbox, and its verdict is the output that the worker signs.
//
//   {"judge": {"package": SHA-256 of the problem's zip, "language": "cpp", "code": "…", "detail": "full" or "verdict"}}
//
// The packages are those of a folder on this machine. None is ever asked of the server: it would have to give the secret tests
// to whoever registers a worker.
import type { Handler, HandlerResult } from '@reeve/sdk/pool'
import type { Logger } from 'pino'
import { systemClock } from '../../core/clock.ts'
import { environment, parseConfig } from '../../core/config.ts'
import { openLog } from '../../core/log/log.ts'
import { runLoop, type Loop } from '../../core/loop.ts'
import { readSettings } from '../../core/settings.ts'
import { doorSettings } from '../../doors/outline.ts'
import { CODE_BYTES_MAX } from '../../doors/judge/submissions/check-submission.ts'
import { judgeFolder } from '../../doors/judge/door.ts'
import { sourceFileOf } from '../../doors/judge/work/judge-worker.ts'
import { judgeSubmission, type Judged } from '../../doors/judge/work/judge-submission.ts'
import { loadLanguages } from '../../doors/judge/languages/language.ts'
import { silentMeter } from '../../doors/judge/metrics.ts'
import { resultOf, type JudgeResult } from '../../doors/judge/submissions/result.ts'
import { JUDGE_SETTINGS } from '../../doors/judge/settings.ts'
import { openJudging, type Judging, type ReadyJudge } from '../../doors/judge/work/judging.ts'
import { Interrupted, JudgeFailure } from '../../doors/judge/work/box-run.ts'
import { openPackageShelf } from '../judge/package-shelf.ts'

const TRIES_MAX = 3
const PRUNE_EVERY_MS = 600_000
const SHA256 = /^[0-9a-f]{64}$/
const DETAILS = ['full', 'verdict'] as const

export interface PoolJudge {
  handler: Handler
  /** What the worker has, for `specs_json`: jobs can ask for it. */
  specs: { judge: { languages: string[]; packages: readonly string[] } }
  close(): Promise<void>
}

/** Throws one sentence where this machine lacks something: a compiler, namespaces, cgroups, packages. */
export async function openPoolJudge(problemsFolder: string): Promise<PoolJudge> {
  const { core: config } = parseConfig(environment(), doorSettings())
  const settings = readSettings(JUDGE_SETTINGS, environment(), [])
  const languages = await loadLanguages(settings.JUDGE_LANGUAGES_FILE)
  const shelf = await openPackageShelf(problemsFolder)
  const log = openLog({ LOG_LEVEL: 'silent' })
  const judging = openJudging({
    folder: judgeFolder(config, settings),
    languages,
    settings: { ...settings, JUDGE_SLOTS: 1 }, // a worker holds one assignment at a time
    meter: silentMeter,
    fetch: shelf.fetch,
    clock: systemClock,
    log,
  })
  const closing = new AbortController()
  const pruning = runLoop(pruningLoop(judging), closing.signal, () => {}) // a cache that is too large is no reason to stop
  const close = async () => {
    closing.abort()
    await pruning
    await judging.close()
    await shelf.close()
  }
  try {
    const opened = await judging.open()
    const specs = { languages: [...opened.worker.toolchains.keys()], packages: shelf.hashes }
    return { handler: judgeHandler(opened, log), specs: { judge: specs }, close }
  } catch (error) {
    await close()
    throw error
  }
}

const pruningLoop = (judging: Judging): Loop => ({
  name: 'prune-judge-caches',
  everyMs: PRUNE_EVERY_MS,
  async runOnce() {
    await judging.prune()
    return false
  },
})

/** What is thrown is told to the client: the job has failed. */
const judgeHandler =
  ({ worker, problems }: ReadyJudge, log: Logger): Handler =>
  async (job, { assignmentId, signal }) => {
    const { sha256, language, code, detail } = submissionIn(job)
    if (!worker.toolchains.has(language)) {
      throw new Error(`This worker cannot run ${language}, only ${[...worker.toolchains.keys()].join(', ')}.`)
    }
    const judged = await patiently(async () => {
      const problem = await problems.get(sha256)
      const { languages, isScoring } = problem.package
      if (languages !== null && !languages.includes(language)) {
        throw new JudgeFailure(`The problem is for ${languages.join(', ')}.`, { final: true })
      }
      const file = sourceFileOf(worker, { language, code })
      const submission = { jobId: String(assignmentId), attemptId: 1, language, files: [file], entry: file.name }
      return { isScoring, ...(await judgeSubmission(worker, problem, submission, { signal, log })) }
    })
    return handedIn(judged, judged.isScoring, detail)
  }

interface JudgeJob {
  sha256: string
  language: string
  code: string
  detail: (typeof DETAILS)[number]
}

function submissionIn(job: unknown): JudgeJob {
  const { package: sha256, language, code, detail = 'full' } = membersOf(membersOf(job)['judge'])
  const wrong = (what: string) => new Error(`The job is not a submission: judge.${what}.`)
  if (typeof sha256 !== 'string' || !SHA256.test(sha256)) {
    throw wrong('package is not the SHA-256 of a package, in lower-case hexadecimal')
  }
  if (typeof language !== 'string') throw wrong('language is not a string')
  if (typeof code !== 'string') throw wrong('code is not a string')
  if (Buffer.byteLength(code) > CODE_BYTES_MAX) throw wrong(`code has more than ${CODE_BYTES_MAX} bytes`)
  const known = DETAILS.find((one) => one === detail)
  if (known === undefined) throw wrong(`detail is neither ${DETAILS.join(' nor ')}`)
  return { sha256, language, code, detail: known }
}

const membersOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {}

/** A failed job is final at the pool, so that what may pass (a busy machine) is tried again here. */
async function patiently<Result>(work: () => Promise<Result>): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work()
    } catch (error) {
      const isFinal = error instanceof Interrupted || (error instanceof JudgeFailure && error.final)
      if (isFinal || tries === TRIES_MAX) throw error
    }
  }
}

function handedIn(judged: Judged, isScoring: boolean, detail: JudgeJob['detail']): HandlerResult {
  const result = resultOf(judged, isScoring)
  const output = detail === 'full' ? result : comparable(result)
  // What a program wrote may hold anything, and is cut somewhere: the server takes no NUL, and half a character has no
  // canonical form.
  const outputText = JSON.stringify(output, (_, value: unknown) =>
    typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\uFFFD') : value,
  )
  return { outputText, metrics: { time_ms: result.time_ms, mem_kb: result.mem_kb } }
}

/** What two honest machines agree on: no times, no memory, no words of a compiler. */
const comparable = ({ verdict, score, groups, tests }: JudgeResult) => ({
  verdict,
  ...(score === undefined ? {} : { score }),
  ...(groups === undefined ? {} : { groups }),
  tests: tests.map((test) => ({ name: test.name, verdict: test.verdict })),
})
