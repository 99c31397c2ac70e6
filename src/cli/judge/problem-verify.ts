// `reeve problem verify`: every labelled submission of a package, judged on this machine with its sandbox, and what differs.
// It needs neither a server nor a database.
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../core/clock.ts'
import { environment, parseConfig } from '../../core/config.ts'
import { openLog } from '../../core/log/log.ts'
import { readSettings } from '../../core/settings.ts'
import { doorSettings } from '../../doors/outline.ts'
import { judgeFolder } from '../../doors/judge/door.ts'
import { loadLanguages, type Language } from '../../doors/judge/languages/language.ts'
import { silentMeter } from '../../doors/judge/metrics.ts'
import { PackageError, type ProblemPackage } from '../../doors/judge/package/package.ts'
import { readPackage } from '../../doors/judge/package/read-package.ts'
import { unzip } from '../../doors/judge/package/unzip.ts'
import { zipFolder } from '../../doors/judge/package/zip-folder.ts'
import { JUDGE_SETTINGS, type JudgeSettings } from '../../doors/judge/settings.ts'
import { verifyPackage, type VerifiedProgram } from '../../doors/judge/verify/verify-package.ts'
import { openJudging } from '../../doors/judge/work/judging.ts'
import { problemFrom } from '../../doors/judge/work/loaded-problems.ts'
import { showToBoxes } from '../../doors/judge/programs/show-to-boxes.ts'
import type { JudgeWorker } from '../../doors/judge/work/judge-worker.ts'
import { CommandFailed } from '../failure.ts'
import { isTerminal, plain, print, printJson, styled } from '../terminal.ts'

interface ProblemVerifyOptions {
  timeLimit?: number
  only?: string
  json?: boolean
}

export async function verifyProblem(paths: readonly string[], options: ProblemVerifyOptions): Promise<void> {
  const { core: config } = parseConfig(environment(), doorSettings())
  const settings = readSettings(JUDGE_SETTINGS, environment(), [])
  const languages = await loadLanguages(settings.JUDGE_LANGUAGES_FILE)
  const judging = openJudging({
    folder: judgeFolder(config, settings),
    languages,
    settings: { ...settings, JUDGE_SLOTS: 1 },
    meter: silentMeter,
    fetch: async () => null,
    clock: systemClock,
    log: openLog({ LOG_LEVEL: 'silent' }),
  })
  const lines: object[] = []
  let differing = 0
  try {
    const { worker } = await judging.open()
    for (const path of paths) {
      const verified = await withPackage(path, settings, (problem) =>
        verifyOne(withTimeLimit(problem, options), worker, languages, path, options),
      )
      differing += verified.filter(({ outcome }) => outcome === 'differs').length
      lines.push(...verified.map((one) => lineOf(path, one)))
    }
  } finally {
    await judging.close()
  }
  if (options.json === true) printJson(lines)
  if (differing > 0) throw new CommandFailed(`${differing} of ${lines.length} verdicts differ from their labels.`)
}

/** Some packages leave the limit to the judge, who is to measure the accepted submissions. */
function withTimeLimit(problem: ProblemPackage, { timeLimit }: ProblemVerifyOptions): ProblemPackage {
  if (timeLimit === undefined) return problem
  return { ...problem, limits: { ...problem.limits, timeMs: Math.round(timeLimit * 1000), timeMsOf: new Map() } }
}

async function verifyOne(
  problem: ProblemPackage,
  worker: JudgeWorker,
  languages: ReadonlyMap<string, Language>,
  path: string,
  { json, only }: ProblemVerifyOptions,
): Promise<VerifiedProgram[]> {
  const { tests, limits } = problem
  if (json !== true) {
    print(styled('bold', `${plain(path)}: ${plain(problem.title ?? '')}, ${tests.length} tests, ${limits.timeMs} ms`))
    if (!tests.some((test) => !test.isSample))
      print(styled('yellow', 'There is no data/secret: it cannot be imported.'))
  }
  return verifyPackage(worker, problemFrom(problem), languages, {
    signal: new AbortController().signal,
    log: openLog({ LOG_LEVEL: 'silent' }),
    isWanted: ({ name }) => only === undefined || name.includes(only),
    onBegin: ({ name }) => {
      if (isTerminal && json !== true) process.stdout.write(styled('gray', `${plain(name)} …`))
    },
    onEnd: (verified) => {
      if (json === true) return
      if (isTerminal) process.stdout.write('\r\u001b[K')
      printVerified(verified)
    },
  })
}

const STYLES = { 'as labelled': 'green', differs: 'red', 'not labelled': 'yellow', 'not judged': 'gray' } as const

function printVerified({ submission, outcome, judged, why }: VerifiedProgram): void {
  const got = judged === null ? '' : `${judged.verdict}${judged.score === null ? '' : ` ${judged.score}`}`
  const time = judged === null ? '' : `${judged.timeMs} ms`
  const name = plain(submission.name).padEnd(56)
  print(
    `${styled(STYLES[outcome], outcome.padEnd(12))} ${name} ${got.padEnd(7)} ${time.padStart(8)}  ${plain(why)}`.trimEnd(),
  )
  if (outcome !== 'differs' || judged === null) return
  if (judged.verdict === 'CE') print(plain(judged.compileOutput.slice(0, 1000)))
  const failed = judged.tests.find((test) => test.verdict !== 'AC')
  if (failed !== undefined)
    print(`             ${failed.test.name}: ${failed.verdict} ${plain(failed.message)}`.trimEnd())
}

const lineOf = (path: string, { submission, outcome, judged, why }: VerifiedProgram) => ({
  package: path,
  submission: submission.name,
  language: submission.language?.id ?? null,
  expected: submission.label?.verdicts ?? null,
  verdict: judged?.verdict ?? null,
  ...(judged?.score === null || judged === null ? {} : { score: judged.score }),
  time_ms: judged?.timeMs ?? null,
  mem_kb: judged?.memKb ?? null,
  outcome,
  why,
})

/** What is verified is what would be imported: a folder is packed, and unpacked again. */
async function withPackage<T>(path: string, settings: JudgeSettings, use: (problem: ProblemPackage) => Promise<T>) {
  const seen = await stat(path).catch(() => null)
  if (seen === null) throw new CommandFailed(`There is no ${plain(path)}.`)
  const folder = await mkdtemp(join(tmpdir(), 'reeve-package-'))
  try {
    const zip = seen.isFile() ? path : join(folder, 'package.zip')
    if (!seen.isFile()) await zipFolder(path, zip)
    const { folder: own } = await unzip(zip, join(folder, 'unpacked'), settings.PROBLEM_UNPACKED_MAX_BYTES)
    await showToBoxes(own)
    return await use(await readPackage(own, { needsSecret: false }))
  } catch (error) {
    if (error instanceof PackageError) throw new CommandFailed(`${plain(path)}: ${plain(error.message)}`)
    throw error
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
