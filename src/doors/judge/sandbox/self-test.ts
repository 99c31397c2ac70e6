// Before anything is judged, the sandbox is attacked: a program that tries to get out, and ones that go past a limit. A sandbox that does
// not hold is not used.
import { mkdir, mkdtemp, readFile, rm, copyFile, chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { StartError } from '../../../core/start-error.ts'
import type { Box, RunRequest, RunReport, BoxRunner } from './box.ts'

const MB = 1024 * 1024

const LIMITS = {
  cpuMs: 1000,
  wallMs: 10_000,
  memoryBytes: 64 * MB,
  processesMax: 8,
  outputBytesMax: MB,
  fileBytesMax: MB,
  diskBytesMax: MB,
  stackBytes: 8 * MB,
} as const

interface EscapeTest {
  what: string
  argument: string
  limits?: Partial<RunRequest>
  /** Null: it held. */
  judge(report: RunReport, said: string): string | null
}

const expectVerdict = (verdict: RunReport['verdict']) => (report: RunReport) =>
  report.verdict === verdict ? null : `the verdict was ${report.verdict}, not ${verdict} ${report.sandboxError}`

const TRIALS: readonly EscapeTest[] = [
  {
    what: 'staying inside',
    argument: 'escape',
    judge: (report, said) =>
      report.verdict === 'OK' ? null : said.trim() || `${report.verdict} ${report.sandboxError}`,
  },
  { what: 'the memory limit', argument: 'memory', limits: { memoryBytes: 16 * MB }, judge: expectVerdict('MLE') },
  { what: 'the CPU limit', argument: 'spin', limits: { cpuMs: 20 }, judge: expectVerdict('TLE') },
  { what: 'the process limit', argument: 'processes', judge: expectVerdict('OK') },
  { what: 'the output limit', argument: 'output', limits: { outputBytesMax: 1000 }, judge: expectVerdict('OLE') },
]

/** Throws a StartError that names what did not hold. */
export async function selfTest(
  runner: BoxRunner,
  options: { probe: string; folder: string; degraded: boolean },
): Promise<void> {
  await mkdir(options.folder, { recursive: true })
  const folder = await mkdtemp(join(options.folder, 'self-test-'))
  try {
    const work = join(folder, 'work')
    await mkdir(work)
    await copyFile(options.probe, join(work, 'probe'))
    await chmod(join(work, 'probe'), 0o755)
    const box = await runner.open({ workFolder: work, writable: false, readOnlyPaths: [] })
    for (const trial of TRIALS) await attempt(box, trial, { folder, probe: options.probe, degraded: options.degraded })
    await box.close()
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function attempt(
  box: Box,
  trial: EscapeTest,
  at: { folder: string; probe: string; degraded: boolean },
): Promise<void> {
  // Without cgroups the memory limit is on address space: allocation fails, and the program is not killed.
  if (at.degraded && trial.argument === 'memory') return
  const output = join(at.folder, 'output')
  const report = await box.run({
    jobId: 'self-test',
    attemptId: 0,
    argv: ['/work/probe', trial.argument, at.probe],
    env: {},
    stdinPath: null,
    stdoutPath: output,
    stderrPath: null,
    ...LIMITS,
    ...trial.limits,
  })
  const failure = trial.judge(report, await readFile(output, 'utf8'))
  if (failure !== null) throw new StartError(`The judge's sandbox does not hold (${trial.what}): ${failure}`)
}
