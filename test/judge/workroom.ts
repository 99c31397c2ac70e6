// Judging without a server: a workroom with a real sandbox, packages from a table of files, and one call that judges.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { rmSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { after, type TestContext } from 'node:test'
import { pino } from 'pino'
import { systemClock } from '../../src/core/clock.ts'
import { openMetrics } from '../../src/core/metrics.ts'
import { readSettings } from '../../src/core/settings.ts'
import { judgeSubmission, type Judged, type JudgeContext } from '../../src/doors/judge/judge-submission.ts'
import { loadLanguages, type Language } from '../../src/doors/judge/languages/language.ts'
import { openJudgeMetrics } from '../../src/doors/judge/metrics.ts'
import { readPackage } from '../../src/doors/judge/package/read-package.ts'
import type { Slot } from '../../src/doors/judge/sandbox/box.ts'
import { openSandbox, type Sandbox } from '../../src/doors/judge/sandbox/sandbox.ts'
import { JUDGE_SETTINGS } from '../../src/doors/judge/settings.ts'
import { sandboxOptions } from '../../src/doors/judge/work/judging.ts'
import { problemFrom } from '../../src/doors/judge/work/problems.ts'
import { openWorkroom, type Workroom } from '../../src/doors/judge/work/workroom.ts'
import { atEnd } from '../support/cleanup.ts'
import { packageFiles } from '../support/zip.ts'

const folder = mkdtempSync(path.join(tmpdir(), 'reeve-test-judge-'))
after(() => rmSync(folder, { recursive: true, force: true }))

export const log = pino({ enabled: false })
const metrics = openJudgeMetrics(openMetrics())
const settings = readSettings(JUDGE_SETTINGS, {}, [])
let sandbox: Promise<Sandbox> | null = null

export interface WorkroomChanges {
  /** In place of the real ones: for what a machine does only when it is broken or busy. */
  slotFrom?: (real: Slot) => Slot
  languages?: (shipped: ReadonlyMap<string, Language>) => ReadonlyMap<string, Language>
  slots?: number
}

export async function openTestWorkroom(t: TestContext, changes: WorkroomChanges = {}): Promise<Workroom> {
  const { slotFrom = (real) => real, languages = few, slots = 1 } = changes
  const opened = await (sandbox ??= openSandbox(sandboxOptions({ folder, settings, metrics, log })))
  const workroom = await openWorkroom({
    folder,
    cacheBytesMax: 1e9,
    slots,
    languages: languages(await loadLanguages('')),
    openSlot: () => slotFrom(opened.openSlot()),
    metrics,
    clock: systemClock,
  })
  atEnd(t, () => workroom.close())
  return workroom
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
  workroom: Workroom,
  files: Readonly<Record<string, string>>,
  { language, code, context = {} }: Judging,
): Promise<Judged> {
  const name = workroom.toolchains.get(language)?.language.source ?? 'main'
  const submission = { jobId: 'test', attemptId: 1, language, files: [{ name, bytes: Buffer.from(code) }], entry: name }
  const whole = { signal: new AbortController().signal, log, ...context }
  return judgeSubmission(workroom, await problemOf(t, files), submission, whole)
}
