import { join } from 'node:path'
import type { Config } from '../../../core/config.ts'
import { readSettings } from '../../../core/settings.ts'
import { openSandbox } from './sandbox.ts'
import { SANDBOX_SETTINGS } from './settings.ts'

/** For `reeve doctor`: builds the sandbox and attacks it, as a server does before it judges anything. */
export async function checkSandbox(config: Config, env: Readonly<Record<string, string | undefined>>): Promise<string> {
  const settings = readSettings(SANDBOX_SETTINGS, env, [])
  const sandbox = await openSandbox({
    cacheFolder: join(config.REEVE_DATA_DIR, 'sandbox'),
    mode: settings.SANDBOX,
    degraded: settings.SANDBOX_DEGRADED,
    cgroup: settings.SANDBOX_CGROUP,
    stdoutLimitBytes: settings.JUDGE_STDOUT_LIMIT_BYTES,
    stderrLimitBytes: settings.JUDGE_STDERR_LIMIT_BYTES,
    onProtocolError: () => {},
    onTruncated: () => {},
    onFallBack: () => {},
  })
  return sandbox.about
}
