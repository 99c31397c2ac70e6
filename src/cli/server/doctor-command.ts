// `reeve doctor`: tries what a server would use, and says what to do about what does not work.
import { environment, parseConfig, redisUrl, type Config } from '../../core/config.ts'
import { openFiles } from '../../core/files/open-files.ts'
import { openLog } from '../../core/log/log.ts'
import { openRedisBus } from '../../core/events/redis-bus.ts'
import { joinStorage, NoDatabaseYet } from '../../core/db/storage.ts'
import { doorChecks, doorTools } from '../../doors/doors.ts'
import { doorSettings } from '../../doors/outline.ts'
import { withClient, type ClientOptions } from '../access/client.ts'
import { CommandFailed } from '../failure.ts'
import { plain, print, printJson, styled } from '../terminal.ts'

interface Check {
  what: string
  status: 'ok' | 'missing' | 'failed'
  detail: string
}

type DoctorOptions = Pick<ClientOptions, 'url' | 'apiKeyFile'> & { json?: boolean }

export async function runDoctor(options: DoctorOptions): Promise<void> {
  const checks = options.url === undefined ? await checksHere() : await checksThere(options)
  if (options.json === true) printJson(checks)
  else for (const check of checks) print(`${MARKS[check.status]} ${check.what.padEnd(14)} ${check.detail}`)
  if (checks.some((check) => check.status === 'failed'))
    throw new CommandFailed('Something that a server needs does not work.')
}

async function checksHere(): Promise<Check[]> {
  const { core: config } = parseConfig(environment(), doorSettings())
  return [
    await checkDatabase(config),
    await checkRedis(config),
    await checkFiles(config),
    ...(await Promise.all(doorChecks.map(({ what, check }) => checked(what, () => check(config, environment()))))),
    ...(await doorTools(environment())).map(toolCheck),
  ]
}

/** What the server says of itself. */
const checksThere = (options: DoctorOptions): Promise<Check[]> =>
  withClient(options, async ({ admin }) => {
    const { checks } = await admin.readiness()
    const { storage, version, doors } = await admin.status()
    const about: Readonly<Record<string, string>> = storage
    return [
      { what: 'server', status: 'ok', detail: plain(`version ${version}, doors ${doors.join(', ')}`) },
      ...Object.entries(checks).map(([what, status]): Check => ({
        what: plain(what),
        status,
        detail: plain(about[what] ?? ''),
      })),
    ]
  })

const MARKS = { ok: styled('green', 'ok     '), missing: styled('yellow', 'missing'), failed: styled('red', 'failed ') }

async function checked(what: string, check: () => Promise<string>): Promise<Check> {
  try {
    return { what, status: 'ok', detail: await check() }
  } catch (error) {
    return { what, status: 'failed', detail: error instanceof Error ? error.message : String(error) }
  }
}

const checkDatabase = (config: Config): Promise<Check> =>
  checked('database', async () => {
    const storage = await joinStorage(config, openLog({ LOG_LEVEL: 'silent' })).catch(orNoneYet)
    if (storage === null) return `none yet in ${config.REEVE_DATA_DIR}: reeve up makes it`
    try {
      const [row] = await storage.database.query<{ version: string }>(
        `select current_setting('server_version') as version`,
      )
      return `${storage.about}, version ${row?.version}`
    } finally {
      await storage.close()
    }
  })

function orNoneYet(error: unknown): null {
  if (error instanceof NoDatabaseYet) return null
  throw error
}

async function checkRedis(config: Config): Promise<Check> {
  const url = redisUrl(config)
  if (url === null)
    return { what: 'Redis', status: 'ok', detail: 'not used: PostgreSQL carries the feed and the events' }
  return checked('Redis', async () => {
    const bus = await openRedisBus(url, () => {})
    await bus.close()
    return new URL(url).host
  })
}

const checkFiles = (config: Config): Promise<Check> =>
  checked('files', async () => {
    const { files, about } = openFiles(config)
    await files.check()
    return about
  })

const toolCheck = ({ what, found, detail }: { what: string; found: boolean; detail: string }): Check => ({
  what,
  status: found ? 'ok' : 'missing',
  detail,
})
