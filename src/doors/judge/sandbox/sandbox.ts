// The sandbox of this process: finds compiler, namespaces and cgroups, tests that they hold, and then opens box runners.
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StartError } from '../../../core/start-error.ts'
import type { BoxRunner } from './box.ts'
import { buildHelper, type Programs } from './build.ts'
import { findHierarchy, openCgroups, type Cgroups } from './cgroups.ts'
import { startHelper, type Helper } from './helper-process.ts'
import { remedyFor } from './remedies.ts'
import { prepareRoot, type RootFiles } from './root-files.ts'
import type { ProtocolReason } from './sandbox-error.ts'
import { selfTest } from './self-test.ts'
import { createBoxRunner, failureIn } from './box-runner.ts'

export interface SandboxOptions {
  /** For the compiled helper; made if it is not there. */
  cacheFolder: string
  /** SANDBOX */
  mode: 'agent' | 'exec'
  /** SANDBOX_DEGRADED */
  degraded: 'refuse' | 'allow'
  /** SANDBOX_CGROUP */
  cgroup: string
  /** JUDGE_STDOUT_LIMIT_BYTES, JUDGE_STDERR_LIMIT_BYTES */
  stdoutLimitBytes: number
  stderrLimitBytes: number
  /** judge_protocol_errors_total{reason} */
  onProtocolError(reason: ProtocolReason): void
  /** judge_output_truncated_total{stream} */
  onTruncated(stream: 'stdout' | 'stderr'): void
  /** For the log: a runner gave up its long-lived helper. */
  onFallBack(): void
}

export interface Sandbox {
  /** For the log: which cgroup version it uses. */
  about: string
  /** Without cgroups: limits are per process. */
  degraded: boolean
  openRunner(): BoxRunner
}

/** Rejects with a StartError, naming the failing call and its remedy, where programs could not be run safely. */
export async function openSandbox(options: SandboxOptions): Promise<Sandbox> {
  if (process.platform !== 'linux')
    throw new StartError('The judge runs programs on Linux only: take judge out of DOORS.')
  const programs = await buildHelper(options.cacheFolder)
  await mkdir(options.cacheFolder, { recursive: true })
  const root = await prepareRoot(options.cacheFolder)
  const cgroups = await findCgroups(options)
  const sandbox = createSandbox(options, { programs, root, cgroups })

  const runner = sandbox.openRunner()
  try {
    await selfTest(runner, {
      probe: programs.probe,
      folder: join(options.cacheFolder, 'self-test'),
      degraded: sandbox.degraded,
    })
  } finally {
    await runner.close()
  }
  return sandbox
}

interface Means {
  programs: Programs
  root: RootFiles
  cgroups: Cgroups | null
}

function createSandbox(options: SandboxOptions, { programs, root, cgroups }: Means): Sandbox {
  const launch = async (): Promise<Helper> => {
    const runner = await cgroups?.newHelper()
    try {
      const { helper, hello } = await startHelper({
        program: programs.box,
        args: runner?.args ?? ['0'],
        stdoutLimitBytes: options.stdoutLimitBytes,
        stderrLimitBytes: options.stderrLimitBytes,
        onTruncated: (stream) => options.onTruncated(stream),
        onEnded: async () => runner?.remove(),
      })
      const failure = failureIn(hello)
      if (failure === null) return helper
      await helper.end()
      throw new StartError(`The judge's sandbox cannot be set up: ${failure}`)
    } catch (error) {
      await runner?.remove()
      throw error
    }
  }
  return {
    about: cgroups === null ? 'without cgroups (degraded)' : `cgroup v${cgroups.version}`,
    degraded: cgroups === null,
    openRunner: () =>
      createBoxRunner({
        mode: options.mode,
        root,
        launch,
        onProtocolError: (reason) => options.onProtocolError(reason),
        onFallBack: () => options.onFallBack(),
      }),
  }
}

/** Null: there are none, and that was allowed. */
async function findCgroups(options: SandboxOptions): Promise<Cgroups | null> {
  const failure = await (async () => {
    const hierarchy = findHierarchy(
      await readFile('/proc/self/mountinfo', 'utf8'),
      await readFile('/proc/self/cgroup', 'utf8'),
      { base: options.cgroup, isRoot: process.getuid?.() === 0 },
    )
    return typeof hierarchy === 'string' ? hierarchy : openCgroups(hierarchy)
  })().catch((error: unknown) => (error instanceof Error ? error.message : String(error)))
  if (typeof failure !== 'string') return failure
  if (options.degraded === 'allow') return null
  throw new StartError(
    `The judge's sandbox needs cgroups to count CPU time and memory: ${failure}. ${remedyFor(`cgroup: ${failure}`)}` +
      ' SANDBOX_DEGRADED=allow runs without them, with weaker limits.',
  )
}
