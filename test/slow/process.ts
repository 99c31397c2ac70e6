// `reeve serve` or `reeve work` of a tree that is built.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { freePort } from '../support/servers.ts'
import { until } from '../support/until.ts'

export const ADMIN = { username: 'admin', password: 'nine-brown-hens' }
export const SECRET = 'between-us'

const SETTINGS = {
  LOG_LEVEL: 'warn',
  METRICS_PORT: '0',
  REEVE_ADMIN_USERNAME: ADMIN.username,
  REEVE_ADMIN_PASSWORD: ADMIN.password,
  DOORS: 'challenge,pool,desk,arena',
  JOB_LEASE_SEC: '10',
  JOB_HEARTBEAT_SEC: '3',
  SHARED_SECRET_KEY: SECRET,
  ALLOW_INSECURE_CALLBACKS: 'true',
  OUTBOUND_ALLOW_CIDRS: '127.0.0.1/32',
}

export interface StartedProcess {
  /** Null: it does not serve. */
  port: number | null
  /** Resolves to the exit code. */
  stop(): Promise<number | null>
  kill(): void
}

export async function startProcess(
  tree: string,
  command: 'serve' | 'work',
  env: Readonly<Record<string, string>>,
): Promise<StartedProcess> {
  const { PATH = '', HOME = '' } = process.env
  const port = await freePort()
  const child = spawn(process.execPath, ['dist/cli/main.js', command], {
    cwd: tree,
    env: { PATH, HOME, ...SETTINGS, SERVER_PORT: String(port), ...env },
    stdio: ['ignore', 'inherit', 'pipe'],
  })
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
  const isOver = () => child.exitCode !== null || child.signalCode !== null
  await until(
    `reeve ${command} runs`,
    () => /ready at|is working/.test(said) || isOver(),
    () => said,
  )
  if (isOver()) throw new Error(`reeve ${command} ended: ${said}`)
  return {
    port: command === 'serve' ? port : null,
    async stop() {
      child.kill('SIGTERM')
      if (!isOver()) await once(child, 'exit')
      return child.exitCode
    },
    kill: () => void child.kill('SIGKILL'),
  }
}
