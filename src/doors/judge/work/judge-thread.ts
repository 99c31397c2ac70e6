// The thread that judges. Compiling, running and comparing strangers' programs, and reading packages, never hold up the
// thread that serves HTTP. It knows neither the ledger nor the database: judge-kind.ts holds the job meanwhile.
import { parentPort, workerData } from 'node:worker_threads'
import { systemClock } from '../../../core/clock.ts'
import type { Config } from '../../../core/config.ts'
import { openFiles } from '../../../core/files/open-files.ts'
import { openLog } from '../../../core/log/log.ts'
import { StartError } from '../../../core/start-error.ts'
import { loadLanguages } from '../languages/language.ts'
import type { JudgeMeter } from '../metrics.ts'
import { PackageError } from '../package/package.ts'
import { readPackage } from '../package/read-package.ts'
import { packageKey } from '../problems/import-problem.ts'
import type { JudgeSettings } from '../settings.ts'
import { CacheFull } from '../programs/disk-cache.ts'
import { SandboxError } from '../sandbox/sandbox-error.ts'
import { briefLine, resultOf, type JudgeResult } from '../submissions/result.ts'
import { Interrupted, JudgeFailure } from './box-run.ts'
import type { FromJudge, JudgeRequest, NotJudged, ToJudge } from './judge-messages.ts'
import { judgeSubmission } from './judge-submission.ts'
import { sourceFileOf } from './judge-worker.ts'
import { problemFrom } from './loaded-problems.ts'
import { openJudging, type ReadyJudge } from './judging.ts'

export interface JudgeThreadData {
  config: Config
  settings: JudgeSettings
  folder: string
}

const { config, settings, folder }: JudgeThreadData = workerData

const GATHERED: ReadonlySet<FromJudge['type']> = new Set([
  'running',
  'test',
  'run_started',
  'run_ended',
  'box_closed',
  'cache_lookup',
])

/** A run takes about a millisecond and a message wakes the serving thread: what nobody waits for goes with what follows. */
const GATHER_MS = 20
const unsaid: FromJudge[] = []
let timer: NodeJS.Timeout | undefined

function say(message: FromJudge): void {
  unsaid.push(message)
  if (GATHERED.has(message.type)) timer ??= setTimeout(sayAll, GATHER_MS)
  else sayAll()
}

function sayAll(): void {
  clearTimeout(timer)
  timer = undefined
  parentPort?.postMessage(unsaid.splice(0), [])
}

const log = openLog(config, { write: (line) => say({ type: 'log', line }) })
const meter: JudgeMeter = {
  runStarted: () => say({ type: 'run_started' }),
  runEnded: (result, seconds) => say({ type: 'run_ended', result, seconds }),
  boxClosed: (seconds) => say({ type: 'box_closed', seconds }),
  protocolError: (reason) => say({ type: 'protocol_error', reason }),
  truncated: (stream) => say({ type: 'truncated', stream }),
  cacheLookup: (outcome) => say({ type: 'cache_lookup', outcome }),
}
const { files } = openFiles(config)
const judging = openJudging({
  folder,
  languages: await loadLanguages(settings.JUDGE_LANGUAGES_FILE),
  settings,
  meter,
  fetch: (sha256) => files.get(packageKey(sha256)),
  clock: systemClock,
  log,
})
const running = new Map<number, AbortController>()

parentPort?.on('message', (message: ToJudge) => {
  switch (message.type) {
    case 'judge':
      return void judge(message.id, message)
    case 'interrupt':
      return running.get(message.id)?.abort()
    case 'check':
      return void check(message.id, message.folder)
    case 'prune':
      return void judging.prune().catch((err: unknown) => log.error({ err }, 'the caches could not be pruned'))
    case 'close':
      return void close()
  }
})

try {
  await judging.open()
  say({ type: 'ready', versions: [...(judging.versions() ?? [])] })
} catch (error) {
  say({ type: 'not_ready', message: error instanceof Error ? error.message : String(error) })
}

async function judge(id: number, request: JudgeRequest): Promise<void> {
  const interruption = new AbortController()
  running.set(id, interruption)
  try {
    const ready = await judging.open()
    say({ type: 'judged', id, result: await resultFor(ready, id, request, interruption.signal) })
  } catch (error) {
    say({ type: 'not_judged', id, ...reasonOf(error, request) })
  } finally {
    running.delete(id)
  }
}

async function resultFor(
  { worker, problems }: ReadyJudge,
  id: number,
  { jobId, attemptId, traceId, payload }: JudgeRequest,
  signal: AbortSignal,
): Promise<JudgeResult> {
  const problem = await problems.get(payload.package)
  const file = sourceFileOf(worker, payload)
  const program = {
    jobId,
    attemptId,
    language: payload.language,
    files: [file],
    entry: file.name,
    input: payload.input,
  }
  const judged = await judgeSubmission(worker, problem, program, {
    signal,
    log: log.child({ job_id: jobId, attempt_id: attemptId, trace_id: traceId }),
    onCompiled: (tests) => say({ type: 'running', id, tests: payload.input === undefined ? tests : 1 }),
    onTest: (tested) => say({ type: 'test', id, line: briefLine(tested) }),
  })
  return resultOf(judged, problem.package.isScoring && payload.input === undefined)
}

/** A failure of the sandbox is no fault of the package. */
async function check(id: number, packageFolder: string): Promise<void> {
  const scope = { jobId: 'check', attemptId: 0, meter, log, signal: new AbortController().signal, degraded: false }
  let fault: string | null = null
  try {
    const { worker } = await judging.open()
    await worker.checkValidator(problemFrom(await readPackage(packageFolder)), scope)
  } catch (error) {
    if (error instanceof JudgeFailure && error.final) fault = [error.message, error.detail].filter(Boolean).join('\n')
    else log.warn({ err: error }, 'a validator could not be checked')
  }
  say({ type: 'checked', id, fault })
}

/** What is thrown here says nothing about the submission. */
function reasonOf(error: unknown, { jobId, attemptId, traceId }: JudgeRequest): NotJudged {
  const about = { job_id: jobId, attempt_id: attemptId, trace_id: traceId }
  if (error instanceof Interrupted) return { why: 'interrupted' }
  if (error instanceof JudgeFailure && error.detail !== '')
    log.error({ ...about, reason: error.message, detail: error.detail }, 'the problem cannot be judged')
  if (error instanceof JudgeFailure) return { why: 'failed', message: error.message, final: error.final }
  if (error instanceof PackageError) return { why: 'failed', message: error.message, final: true }
  if (error instanceof SandboxError || error instanceof StartError || error instanceof CacheFull)
    return { why: 'failed', message: error.message, final: false }
  log.error({ ...about, err: error }, 'judging failed')
  return { why: 'failed', message: 'Internal error while judging.', final: false }
}

async function close(): Promise<void> {
  for (const interruption of running.values()) interruption.abort()
  await judging.close()
  say({ type: 'closed' })
  parentPort?.close()
}
