// `reeve doctor`: tries what a server would use, and says what to do about what does not work.
import { spawnSync } from 'node:child_process'
import { environment, parseConfig, redisUrl, type Config } from '../core/config.ts'
import { openFiles } from '../core/files/open-files.ts'
import { openLog } from '../core/log.ts'
import { openRedisBus } from '../core/events/redis-bus.ts'
import { joinStorage } from '../core/storage.ts'
import { doorChecks, doorSettings } from '../doors/doors.ts'
import { CommandFailed } from './failure.ts'
import { print, printJson, styled } from './terminal.ts'

interface Check {
  what: string
  status: 'ok' | 'missing' | 'failed'
  detail: string
}

// What later doors run: named here so that a machine can be prepared before they are opened.
const TOOLS = [
  { what: 'C compiler', command: 'cc', for: 'the sandbox helper and C submissions', debian: 'gcc' },
  { what: 'C++ compiler', command: 'c++', for: 'C++ submissions', debian: 'g++' },
  { what: 'Python', command: 'python3', for: 'Python submissions', debian: 'python3' },
  { what: 'Java compiler', command: 'javac', for: 'Java submissions', debian: 'default-jdk-headless' },
  { what: 'Rust compiler', command: 'rustc', for: 'Rust submissions', debian: 'rustc' },
] as const

export async function runDoctor(options: { json?: boolean }): Promise<void> {
  const { core: config } = parseConfig(environment(), doorSettings())
  const checks = [
    await checkDatabase(config),
    await checkRedis(config),
    await checkFiles(config),
    ...(await Promise.all(doorChecks.map(({ what, check }) => checked(what, () => check(config, environment()))))),
    ...TOOLS.map(checkTool),
  ]

  if (options.json === true) printJson(checks)
  else for (const check of checks) print(`${MARKS[check.status]} ${check.what.padEnd(14)} ${check.detail}`)
  if (checks.some((check) => check.status === 'failed'))
    throw new CommandFailed('Something that a server needs does not work.')
}

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
    const storage = await joinStorage(config, openLog({ LOG_LEVEL: 'silent' }))
    try {
      const [row] = await storage.database.query<{ version: string }>(
        `select current_setting('server_version') as version`,
      )
      return `${storage.about}, version ${row?.version}`
    } finally {
      await storage.close()
    }
  })

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

function checkTool(tool: (typeof TOOLS)[number]): Check {
  const { status, stdout, stderr } = spawnSync(tool.command, ['--version'], { encoding: 'utf8', timeout: 10_000 })
  const version = (stdout || stderr || '').split('\n')[0] ?? ''
  if (status === 0) return { what: tool.what, status: 'ok', detail: version }
  return { what: tool.what, status: 'missing', detail: `needed for ${tool.for}: apt-get install ${tool.debian}` }
}
