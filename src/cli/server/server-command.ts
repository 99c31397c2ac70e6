// `reeve up`, `serve` and `work`: a process that runs until it is told to stop.
import { databaseUrl, environment, parseConfig } from '../../core/config.ts'
import { openLog } from '../../core/log/log.ts'
import { StartError } from '../../core/start-error.ts'
import { DOOR_NAMES, doorSettings } from '../../doors/outline.ts'
import { start, type ProcessRole, type Running } from '../../main.ts'
import { prettyLog } from './pretty-log.ts'
import { isTerminal, say, styled } from '../terminal.ts'

// A runner such as npm passes on the Ctrl-C that the terminal has already sent to the whole group.
const SAME_SIGNAL_MS = 1000

export async function runServer(role: ProcessRole): Promise<number> {
  const settings = parseConfig(environment(), doorSettings(), DOOR_NAMES)
  if (role !== 'up' && databaseUrl(settings.core) === null) {
    throw new StartError(
      `reeve ${role} needs DATABASE_URL: the embedded database belongs to one process. Use reeve up.`,
    )
  }
  const log = openLog(settings.core, isTerminal ? prettyLog() : undefined)
  const stopAsked = askedToStop()
  const running = await start({ settings, role, log })
  if (role === 'work') await Promise.race([running.prepared(), stopAsked])
  greet(role, running)

  const why = await Promise.race([stopAsked, running.lost])
  if (typeof why === 'string') {
    log.fatal(why)
    say(why)
    return 1
  }
  log.info(
    { signal: why.signal },
    'stopping: taking no new work and waiting for work in flight (send the signal again to stop at once)',
  )
  await running.stop()
  log.info('stopped')
  return 0
}

function greet(role: ProcessRole, { url, firstAdmin }: Running): void {
  if (role === 'work') say(`Reeve is working (${role}). Metrics: ${styled('cyan', `${url}/metrics`)}`)
  else say(`Reeve is ready at ${styled('cyan', String(url))}`)
  if (firstAdmin === null) return
  say(
    `First start: the admin is ${styled('bold', firstAdmin.username)} with the password ${styled('bold', firstAdmin.password)}`,
  )
  say('The password is not shown again. REEVE_ADMIN_PASSWORD sets another one.')
}

/** The first signal asks for a drain; another one, later, ends the process at once. */
function askedToStop(): Promise<{ signal: NodeJS.Signals }> {
  return new Promise((resolve) => {
    let first: number | null = null
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      process.on(signal, () => {
        if (first !== null && performance.now() - first > SAME_SIGNAL_MS) process.exit(130)
        first ??= performance.now()
        resolve({ signal })
      })
    }
  })
}
