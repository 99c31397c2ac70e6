// Judging as a process has it: nothing until it is needed, then one workroom until the process stops.
import { join, resolve } from 'node:path'
import type { Logger } from 'pino'
import type { Clock } from '../../../core/clock.ts'
import type { Loop } from '../../../core/loop.ts'
import type { Language } from '../languages/language.ts'
import type { JudgeMetrics } from '../metrics.ts'
import { openSandbox, type SandboxOptions } from '../sandbox/sandbox.ts'
import type { JudgeSettings } from '../settings.ts'
import { openProblems, type FetchPackage, type Problems } from './problems.ts'
import { openWorkroom, slotsOf, type Workroom } from './workroom.ts'

export interface Judging {
  /** Opens it the first time. Throws one sentence if the sandbox cannot be trusted here. */
  open(): Promise<Opened>
  /** Language → version, once it is open. */
  versions(): ReadonlyMap<string, string> | null
  loop: Loop
  close(): Promise<void>
}

export interface Opened {
  workroom: Workroom
  problems: Problems
}

export interface JudgingOptions {
  folder: string
  languages: ReadonlyMap<string, Language>
  settings: JudgeSettings
  metrics: JudgeMetrics
  fetch: FetchPackage
  clock: Clock
  log: Logger
}

const PRUNE_EVERY_MS = 600_000

export function openJudging(options: JudgingOptions): Judging {
  let opening: Promise<Opened> | null = null
  let opened: Opened | null = null

  const open = async () => {
    const { settings, metrics, log } = options
    const folder = resolve(options.folder)
    const sandbox = await openSandbox(sandboxOptions({ folder, settings, metrics, log }))
    const workroom = await openWorkroom({
      ...options,
      folder,
      cacheBytesMax: settings.JUDGE_CACHE_MAX_BYTES,
      slots: slotsOf(settings.JUDGE_SLOTS),
      openSlot: () => sandbox.openSlot(),
    })
    const unpackedBytesMax = settings.PROBLEM_UNPACKED_MAX_BYTES
    const problems = openProblems({ packages: workroom.packages, fetch: options.fetch, unpackedBytesMax })
    opened = { workroom, problems }
    log.info(
      { sandbox: sandbox.about, slots: slotsOf(settings.JUDGE_SLOTS), languages: [...workroom.toolchains.keys()] },
      'ready to judge',
    )
    return opened
  }

  return {
    open: () => (opening ??= open()),
    versions() {
      if (opened === null) return null
      return new Map([...opened.workroom.toolchains.values()].map(({ language, version }) => [language.id, version]))
    },
    loop: {
      name: 'keep the judge’s caches within bounds',
      everyMs: PRUNE_EVERY_MS,
      async runOnce() {
        await opened?.workroom.prune()
        return false
      },
    },
    async close() {
      const known = await opening?.catch(() => null)
      await known?.workroom.close()
    },
  }
}

/** What the sandbox is told of the settings, and tells of itself. */
export function sandboxOptions({
  folder,
  settings,
  metrics,
  log,
}: Pick<JudgingOptions, 'folder' | 'settings' | 'metrics' | 'log'>): SandboxOptions {
  return {
    cacheFolder: join(folder, 'sandbox'),
    mode: settings.SANDBOX,
    degraded: settings.SANDBOX_DEGRADED,
    cgroup: settings.SANDBOX_CGROUP,
    stdoutLimitBytes: settings.JUDGE_STDOUT_LIMIT_BYTES,
    stderrLimitBytes: settings.JUDGE_STDERR_LIMIT_BYTES,
    onProtocolError: (reason) => metrics.protocolErrors.inc({ reason }),
    onTruncated: (stream) => metrics.truncated.inc({ stream }),
    onFallBack: () => log.warn('a slot falls back to one sandbox process per run'),
  }
}
