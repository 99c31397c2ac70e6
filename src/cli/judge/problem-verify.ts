// `reeve problem verify`: every labelled submission of a package, or of all packages below a folder, judged on this machine
// with its sandbox, and what differs. It needs neither a server nor a database.
import { mkdtemp, rm } from 'node:fs/promises'
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
import type { ProblemPackage } from '../../doors/judge/package/package.ts'
import { readPackage } from '../../doors/judge/package/read-package.ts'
import { unzip } from '../../doors/judge/package/unzip.ts'
import { zipFolder } from '../../doors/judge/package/zip-folder.ts'
import { JUDGE_SETTINGS, type JudgeSettings } from '../../doors/judge/settings.ts'
import { findPackages, type FoundPackage } from '../../doors/judge/verify/find-packages.ts'
import { countMissingInputs } from '../../doors/judge/verify/missing-inputs.ts'
import { verifyPackage } from '../../doors/judge/verify/verify-package.ts'
import { openJudging } from '../../doors/judge/work/judging.ts'
import { problemFrom } from '../../doors/judge/work/loaded-problems.ts'
import { showToBoxes } from '../../doors/judge/programs/show-to-boxes.ts'
import type { JudgeWorker } from '../../doors/judge/work/judge-worker.ts'
import { CommandFailed } from '../failure.ts'
import { counted, isTerminal, plain, print, printJson, styled } from '../terminal.ts'
import { refusalOf } from './refusal.ts'
import { linesOf, printProgram, printRefusal, printSummary, type VerifiedPackage } from './verify-report.ts'

interface ProblemVerifyOptions {
  timeLimit?: number
  timeFactor?: number
  measure?: boolean
  parallel?: number
  only?: string
  differences?: boolean
  json?: boolean
}

/** What all packages of one call share. */
interface Verifying {
  worker: JudgeWorker
  languages: ReadonlyMap<string, Language>
  settings: JudgeSettings
  options: ProblemVerifyOptions
}

export async function verifyProblem(paths: readonly string[], options: ProblemVerifyOptions): Promise<void> {
  const packages = await packagesAt(paths)
  const { core: config } = parseConfig(environment(), doorSettings())
  const settings = readSettings(JUDGE_SETTINGS, environment(), [])
  const languages = await loadLanguages(settings.JUDGE_LANGUAGES_FILE)
  const judging = openJudging({
    folder: judgeFolder(config, settings),
    languages,
    settings: { ...settings, JUDGE_SLOTS: options.parallel ?? 1 },
    meter: silentMeter,
    fetch: async () => null,
    clock: systemClock,
    log: openLog({ LOG_LEVEL: 'silent' }),
  })
  const verified: VerifiedPackage[] = []
  try {
    const { worker } = await judging.open()
    for (const found of packages) verified.push(await verifyOne(found, { worker, languages, settings, options }))
  } finally {
    await judging.close()
  }
  const programs = verified.flatMap((one) => one.programs)
  if (options.json === true) printJson(verified.flatMap(linesOf))
  else if (packages.length > 1) printSummary(verified)
  const refused = verified.filter((one) => one.refused !== null).length
  const differing = programs.filter(({ outcome }) => outcome === 'differs').length
  const faults = [
    ...(refused === 0 ? [] : [`${refused} of ${counted(packages.length, 'package')} refused.`]),
    ...(differing === 0 ? [] : [`${differing} of ${programs.length} verdicts differ from their labels.`]),
  ]
  if (faults.length > 0) throw new CommandFailed(faults.join('\n'))
}

async function packagesAt(paths: readonly string[]): Promise<FoundPackage[]> {
  const all: FoundPackage[] = []
  for (const path of paths) {
    const found = await findPackages(path)
    if (found === null) throw new CommandFailed(`There is no ${plain(path)}.`)
    if (found.length === 0) throw new CommandFailed(`${plain(path)}: problem.yaml is missing.`)
    all.push(...found)
  }
  return all
}

async function verifyOne(found: FoundPackage, verifying: Verifying): Promise<VerifiedPackage> {
  const { path } = found
  const isSilent = verifying.options.json === true
  try {
    return await withPackage(found, verifying.settings, async (problem) => {
      await checkValidator(problem, verifying.worker)
      const isIncomplete = (await countMissingInputs(problem.folder)) > 0
      if (!isSilent) printHeading(path, problem, isIncomplete)
      return { path, refused: null, isIncomplete, programs: await verifyPrograms(problem, verifying) }
    })
  } catch (error) {
    const refused = refusalOf(error)
    if (!isSilent) printRefusal(path, refused)
    return { path, refused, isIncomplete: false, programs: [] }
  }
}

/** As the import does. */
async function checkValidator(problem: ProblemPackage, worker: JudgeWorker): Promise<void> {
  const log = openLog({ LOG_LEVEL: 'silent' })
  const { signal } = new AbortController()
  const scope = { jobId: 'check', attemptId: 0, meter: silentMeter, log, signal, degraded: false }
  await worker.checkValidator(problemFrom(problem), scope)
}

function printHeading(path: string, { tests, limits, title }: ProblemPackage, isIncomplete: boolean): void {
  print(styled('bold', `${plain(path)}: ${plain(title ?? '')}, ${counted(tests.length, 'test')}, ${limits.timeMs} ms`))
  if (!tests.some((test) => !test.isSample)) print(styled('yellow', 'There is no data/secret: it cannot be imported.'))
  if (isIncomplete) print(styled('yellow', 'Some answers have no input: the package is incomplete.'))
}

async function verifyPrograms(problem: ProblemPackage, { worker, languages, options }: Verifying) {
  const { json, only, differences, parallel = 1, timeLimit, measure } = options
  const isSilent = json === true
  const showsProgress = isTerminal && !isSilent && parallel === 1
  return verifyPackage(worker, problemFrom(withTimeLimit(problem, options)), languages, {
    signal: new AbortController().signal,
    log: openLog({ LOG_LEVEL: 'silent' }),
    parallel,
    measuresTime: measure === true && timeLimit === undefined,
    isWanted: ({ name }) => only === undefined || name.includes(only),
    onTimeLimit: (timeMs) => {
      if (!isSilent) print(styled('gray', `measured time limit: ${timeMs} ms`))
    },
    onBegin: ({ name }) => {
      if (showsProgress) process.stdout.write(styled('gray', `${plain(name)} …`))
    },
    onEnd: (verified) => {
      if (isSilent) return
      if (showsProgress) process.stdout.write('\r\u001b[K')
      if (differences !== true || verified.outcome === 'differs') printProgram(verified)
    },
  })
}

/** A limit that was made for another machine is made longer; some packages have none, and the judge is to choose it. */
function withTimeLimit(problem: ProblemPackage, { timeLimit, timeFactor = 1 }: ProblemVerifyOptions): ProblemPackage {
  if (timeLimit === undefined && timeFactor === 1) return problem
  const { limits } = problem
  const scaled = (ms: number) => Math.round(ms * timeFactor)
  const timeMs = scaled(timeLimit === undefined ? limits.timeMs : timeLimit * 1000)
  const own = timeLimit === undefined ? [...limits.timeMsOf] : []
  const timeMsOf = new Map(own.map(([language, ms]) => [language, scaled(ms)]))
  return { ...problem, limits: { ...limits, timeMs, timeMsOf } }
}

/** What is verified is what would be imported: a folder is packed, and unpacked again. */
async function withPackage<T>(
  { path, root }: FoundPackage,
  settings: JudgeSettings,
  use: (problem: ProblemPackage) => Promise<T>,
) {
  const folder = await mkdtemp(join(tmpdir(), 'reeve-package-'))
  try {
    const zip = root === null ? path : join(folder, 'package.zip')
    if (root !== null) await zipFolder(path, zip, root)
    const { folder: own } = await unzip(zip, join(folder, 'unpacked'), settings.PROBLEM_UNPACKED_MAX_BYTES)
    await showToBoxes(own)
    return await use(await readPackage(own, { needsSecret: false }))
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
