// The judge of a process or thread: opened on first use, closed with it.
import { join, resolve } from 'node:path'
import type { Logger } from 'pino'
import type { Clock } from '../../../core/clock.ts'
import type { Language } from '../languages/language.ts'
import type { JudgeMeter } from '../metrics.ts'
import { openSandbox, type SandboxOptions } from '../sandbox/sandbox.ts'
import { timedBoxes } from '../sandbox/timed-boxes.ts'
import type { JudgeSettings } from '../settings.ts'
import { openProblems, type FetchPackage, type Problems } from './loaded-problems.ts'
import { openJudgeWorker, slotsOf, type JudgeWorker } from './judge-worker.ts'

export interface Judging {
  /** Opens it the first time. Throws one sentence if the sandbox cannot be trusted here. */
  open(): Promise<ReadyJudge>
  /** Language → version, once it is open. */
  versions(): ReadonlyMap<string, string> | null
  /** Keeps the caches within their bounds. */
  prune(): Promise<void>
  close(): Promise<void>
}

export interface ReadyJudge {
  worker: JudgeWorker
  problems: Problems
}

export interface JudgingOptions {
  folder: string
  languages: ReadonlyMap<string, Language>
  settings: JudgeSettings
  meter: JudgeMeter
  fetch: FetchPackage
  clock: Clock
  log: Logger
}

export function openJudging(options: JudgingOptions): Judging {
  let opening: Promise<ReadyJudge> | null = null
  let opened: ReadyJudge | null = null

  const open = async () => {
    const { settings, languages, meter, clock, log } = options
    const folder = resolve(options.folder)
    const sandbox = await openSandbox(sandboxOptions({ folder, settings, meter, log }))
    const worker = await openJudgeWorker({
      folder,
      languages,
      meter,
      clock,
      cacheBytesMax: settings.JUDGE_CACHE_MAX_BYTES,
      packageBytesMax: settings.PROBLEM_UNPACKED_MAX_BYTES,
      slotCount: slotsOf(settings.JUDGE_SLOTS),
      openRunner: () => timedBoxes(sandbox.openRunner(), (seconds) => meter.boxClosed(seconds)),
    })
    const unpackedBytesMax = settings.PROBLEM_UNPACKED_MAX_BYTES
    const problems = openProblems({ packages: worker.packages, fetch: options.fetch, unpackedBytesMax })
    opened = { worker, problems }
    log.info(
      { sandbox: sandbox.about, slots: slotsOf(settings.JUDGE_SLOTS), languages: [...worker.toolchains.keys()] },
      'ready to judge',
    )
    return opened
  }

  return {
    open: () => (opening ??= open()),
    versions() {
      if (opened === null) return null
      return new Map([...opened.worker.toolchains.values()].map(({ language, version }) => [language.id, version]))
    },
    async prune() {
      await opened?.worker.prune()
    },
    async close() {
      const known = await opening?.catch(() => null)
      await known?.worker.close()
    },
  }
}

/** The sandbox's options from the settings, with its reports connected to the meter and the log. */
export function sandboxOptions({
  folder,
  settings,
  meter,
  log,
}: Pick<JudgingOptions, 'folder' | 'settings' | 'meter' | 'log'>): SandboxOptions {
  return {
    cacheFolder: join(folder, 'sandbox'),
    mode: settings.SANDBOX,
    degraded: settings.SANDBOX_DEGRADED,
    cgroup: settings.SANDBOX_CGROUP,
    stdoutLimitBytes: settings.JUDGE_STDOUT_LIMIT_BYTES,
    stderrLimitBytes: settings.JUDGE_STDERR_LIMIT_BYTES,
    onProtocolError: (reason) => meter.protocolError(reason),
    onTruncated: (stream) => meter.truncated(stream),
    onFallBack: () => log.warn('a slot falls back to one sandbox process per run'),
  }
}
