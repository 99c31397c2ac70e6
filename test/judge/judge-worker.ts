// Judging without a server: a worker with a real sandbox, packages from a table of files, and one call that judges.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { TestContext } from 'node:test'
import { pino } from 'pino'
import { systemClock } from '../../src/core/clock.ts'
import { readSettings } from '../../src/core/settings.ts'
import { judgeSubmission, type Judged, type JudgeContext } from '../../src/doors/judge/work/judge-submission.ts'
import { loadLanguages, type Language } from '../../src/doors/judge/languages/language.ts'
import { silentMeter } from '../../src/doors/judge/metrics.ts'
import { readPackage } from '../../src/doors/judge/package/read-package.ts'
import type { BoxRunner } from '../../src/doors/judge/sandbox/box.ts'
import { openSandbox, type Sandbox } from '../../src/doors/judge/sandbox/sandbox.ts'
import { JUDGE_SETTINGS } from '../../src/doors/judge/settings.ts'
import { sandboxOptions } from '../../src/doors/judge/work/judging.ts'
import { problemFrom } from '../../src/doors/judge/work/loaded-problems.ts'
import { openJudgeWorker, type JudgeWorker } from '../../src/doors/judge/work/judge-worker.ts'
import { atEnd } from '../support/cleanup.ts'
import { judgeCache } from '../support/judge-cache.ts'
import { packageFiles } from '../support/zip.ts'
import { footing } from './rig.ts'

export const log = pino({ enabled: false })
const settings = readSettings(JUDGE_SETTINGS, footing === 'degraded' ? { SANDBOX_DEGRADED: 'allow' } : {}, [])
const sandboxes = new Map<string, Promise<Sandbox>>()

export interface JudgeWorkerChanges {
  /** In place of the real ones: for what a machine does only when it is broken or busy. */
  runnerFrom?: (real: BoxRunner) => BoxRunner
  languages?: (shipped: ReadonlyMap<string, Language>) => ReadonlyMap<string, Language>
  slots?: number
  /** In place of the one that files of tests share. */
  folder?: string
}

export async function openTestWorker(t: TestContext, changes: JudgeWorkerChanges = {}): Promise<JudgeWorker> {
  const { runnerFrom = (real) => real, languages = few, slots = 1 } = changes
  const folder = changes.folder ?? (await judgeCache())
  const sandbox = sandboxes.get(folder) ?? openSandbox(sandboxOptions({ folder, settings, meter: silentMeter, log }))
  sandboxes.set(folder, sandbox)
  const opened = await sandbox
  const worker = await openJudgeWorker({
    folder,
    cacheBytesMax: 8e9,
    packageBytesMax: 1e8,
    slotCount: slots,
    languages: languages(await loadLanguages('')),
    openRunner: () => runnerFrom(opened.openRunner()),
    meter: silentMeter,
    clock: systemClock,
  })
  atEnd(t, () => worker.close())
  return worker
}

export async function problemOf(t: TestContext, files: Readonly<Record<string, string>>) {
  const own = await mkdtemp(path.join(tmpdir(), 'reeve-test-'))
  atEnd(t, () => rm(own, { recursive: true, force: true }))
  for (const [name, text] of Object.entries(packageFiles(files))) {
    await mkdir(path.dirname(path.join(own, name)), { recursive: true })
    await writeFile(path.join(own, name), text)
  }
  return problemFrom(await readPackage(own))
}

/** To ask the others for their versions takes seconds (a Java machine, Cargo). */
const few = (shipped: ReadonlyMap<string, Language>) =>
  new Map([...shipped].filter(([id]) => ['c', 'cpp', 'python3'].includes(id)))

export interface Judging {
  language: string
  code: string
  context?: Partial<JudgeContext>
}

export async function judge(
  t: TestContext,
  worker: JudgeWorker,
  files: Readonly<Record<string, string>>,
  { language, code, context = {} }: Judging,
): Promise<Judged> {
  const name = worker.toolchains.get(language)?.language.source ?? 'main'
  const submission = { jobId: 'test', attemptId: 1, language, files: [{ name, bytes: Buffer.from(code) }], entry: name }
  const whole = { signal: new AbortController().signal, log, ...context }
  return judgeSubmission(worker, await problemOf(t, files), submission, whole)
}
