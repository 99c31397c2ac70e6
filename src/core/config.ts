// The settings of the server itself. Each door adds a table of its own (doors/<door>/settings.ts).
import {
  flag,
  integer,
  list,
  logLevel,
  oneOf,
  readSettings,
  text,
  unknownSettings,
  type Settings,
  type Values,
} from './settings.ts'
import { StartError } from './start-error.ts'
import { TRACE_SETTINGS } from './traces/settings.ts'

/** Settings of systems that speak the same protocols, which have no effect here, and what takes their place. */
const UNUSED_SETTINGS: Readonly<Record<string, string>> = {
  SOLVER_HOST: 'SERVER_HOST',
  SOLVER_PORT: 'SERVER_PORT',
  CHALLENGER_HOST: 'SERVER_HOST',
  CHALLENGER_PORT: 'SERVER_PORT',
  OUTBOX_ENABLED: 'the outbox is always on',
}

const quota = (or: number, about: string) => integer({ min: 0, max: 1_000_000_000, or, about })

const kept = (or: number, about: string, min = 0) => integer({ min, max: 36_500, or, about })

export const CORE_SETTINGS = {
  SERVER_HOST: text({ or: '127.0.0.1', about: 'Address to listen on. 0.0.0.0: all interfaces.' }),
  SERVER_PORT: integer({ min: 0, max: 65_535, or: 8080, about: 'Port for HTTP and WebSocket of all doors.' }),
  PUBLIC_URL: text({ or: '', about: 'The URL that users see, behind a reverse proxy.' }),
  TRUST_PROXY: flag({ or: false, about: 'Trust X-Forwarded-* headers. Only behind a proxy that sets them.' }),
  DOORS: list({ or: [], about: 'Doors to open. Empty: all.' }),
  LOG_LEVEL: logLevel({ or: 'info', about: 'Log level, in any case; `warning` is `warn`.' }),

  REEVE_DATA_DIR: text({ or: './data', about: 'Data folder of a single-machine deployment: database and files.' }),
  DATABASE_URL: text({ or: '', secret: true, about: 'PostgreSQL 15 or newer. Empty: the embedded server.' }),
  DB_HOST: text({ or: '', about: 'Database host, instead of DATABASE_URL.' }),
  DB_PORT: integer({ min: 1, max: 65_535, or: 5432, about: 'Database port.' }),
  DB_USER: text({ or: 'app', about: 'Database user.' }),
  DB_PASSWORD: text({ or: 'app_pass', secret: true, about: 'Database password.' }),
  DB_NAME: text({ or: 'app_db', about: 'Database name.' }),
  REDIS_URL: text({
    or: '',
    secret: true,
    about: 'Redis 6.2 or newer for the feed and events. Empty: PostgreSQL is used for both.',
  }),
  REDIS_HOST: text({ or: '', about: 'Redis host, instead of REDIS_URL.' }),
  REDIS_PORT: integer({ min: 1, max: 65_535, or: 6379, about: 'Redis port.' }),
  S3_ENDPOINT: text({ or: '', about: 'S3-compatible store for files. Empty: the data folder.' }),
  S3_BUCKET: text({ or: 'reeve', about: 'S3 bucket.' }),
  S3_REGION: text({ or: 'us-east-1', about: 'S3 region.' }),
  S3_ACCESS_KEY_ID: text({ or: '', secret: true, about: 'S3 access key.' }),
  S3_SECRET_ACCESS_KEY: text({ or: '', secret: true, about: 'S3 secret key.' }),
  S3_FORCE_PATH_STYLE: flag({
    or: true,
    about: 'Put the bucket in the path (as MinIO expects) instead of the host name.',
  }),

  AUTH_TOKEN_TTL_SECONDS: integer({ min: 1, max: 31_536_000, or: 3600, about: 'Lifetime of a login token.' }),
  LOGIN_RATE_LIMIT_WINDOW: integer({ min: 1, max: 86_400, or: 60, about: 'Window in which logins are counted.' }),
  LOGIN_RATE_LIMIT_MAX: integer({
    min: 1,
    max: 100_000,
    or: 5,
    about: 'Logins, successful or not, per username and address in one window.',
  }),
  REEVE_ADMIN_USERNAME: text({ or: '', about: 'Account that is created, or given the ADMIN role, at every start.' }),
  REEVE_ADMIN_PASSWORD: text({
    or: '',
    secret: true,
    about: 'Password of that account. Empty at the first start: a random password is printed once.',
  }),
  REGISTRATION: oneOf({ values: ['open', 'closed'], or: 'open', about: 'Whether visitors may create accounts.' }),
  REGISTER_RATE_LIMIT_WINDOW: integer({
    min: 1,
    max: 86_400,
    or: 600,
    about: 'Window in which registrations are counted.',
  }),
  REGISTER_RATE_LIMIT_MAX: integer({
    min: 1,
    max: 1_000_000,
    or: 60,
    about: 'Registrations per address (IPv6: per /64) in one window.',
  }),
  METRICS_TOKEN: text({
    or: '',
    secret: true,
    about: 'Bearer token that /metrics/prometheus, /metrics as text and /docs require. Empty: open.',
  }),
  METRICS_PORT: integer({
    min: 0,
    max: 65_535,
    or: 9464,
    about: 'Port on which `reeve work` answers /healthz, /readyz and /metrics: the first from here on that is free.',
  }),
  OPS_TOKEN: text({
    or: '',
    secret: true,
    about: 'X-Ops-Token that /ops/status requires. Empty: every request is refused.',
  }),

  JOB_LEASE_SEC: integer({ min: 1, max: 3600, or: 60, about: 'Lease of an attempt.' }),
  JOB_HEARTBEAT_SEC: integer({
    min: 1,
    max: 1200,
    or: 20,
    about: 'Interval between lease renewals. At most a third of the lease.',
  }),
  JOB_MAX_ATTEMPTS: integer({ min: 1, max: 1000, or: 5, about: 'Attempts, including reclaims, before a job is dead.' }),
  JOB_RETRY_BASE_MS: integer({
    min: 1,
    max: 3_600_000,
    or: 1000,
    about: 'Delay after the first failure. Doubles with each further one.',
  }),
  JOB_RETRY_MAX_MS: integer({ min: 1, max: 86_400_000, or: 300_000, about: 'Longest delay between two attempts.' }),
  JOB_AGEING_SEC: integer({ min: 1, max: 86_400, or: 60, about: 'Waiting time that equals one priority level.' }),
  JOB_STREAM_GROUP: text({ or: 'deepoj:workers', about: 'Consumer group of the Redis streams.' }),
  JOB_STREAM_CONSUMER: text({ or: '', about: 'Consumer name in the group. Empty: WORKER_ID, else host and pid.' }),
  WORKER_ID: text({ or: '', about: 'Name of this process as lease owner. Empty: host and pid.' }),
  JOB_STREAM_MAXLEN: integer({
    min: 1000,
    max: 100_000_000,
    or: 200_000,
    about: 'Approximate length at which the stream is trimmed.',
  }),
  JOB_PAYLOAD_TTL_SEC: integer({ min: 1, max: 31_536_000, or: 86_400, about: 'How long Redis keeps a payload.' }),
  JOB_RECLAIM_INTERVAL_SEC: integer({ min: 1, max: 3600, or: 5, about: 'Interval between scans for abandoned jobs.' }),
  JOB_RECLAIM_COUNT: integer({ min: 1, max: 1000, or: 16, about: 'Abandoned jobs taken over per scan.' }),
  JOB_RECLAIM_GRACE_SEC: integer({
    min: 0,
    max: 3600,
    or: 15,
    about: 'Idle time beyond the lease before a stream entry is claimed.',
  }),
  OUTBOX_KEPT_DAYS: integer({
    min: 0,
    max: 3650,
    or: 1,
    about: 'How long outbox rows of the Redis feed stay once delivered. 0: deleted at once.',
  }),
  DELIVERIES_KEPT_DAYS: integer({
    min: 1,
    max: 3650,
    or: 30,
    about: 'How long delivered callbacks and the log of attempts are kept. Dead letters stay until they are replayed.',
  }),
  JOBS_KEPT_DAYS: kept(30, 'How long done jobs are kept that nothing refers to. 0: for ever.'),
  ATTEMPTS_KEPT_DAYS: kept(
    30,
    'How long attempts of done jobs are kept, where the job stays longer. 0: as long as the job.',
  ),
  RESULTS_KEPT_DAYS: kept(
    0,
    'How long outputs of pool jobs and results of echo jobs are kept, where the job stays longer. 0: as long as the job.',
  ),
  EVENTS_KEPT_DAYS: kept(7, 'How long events can be replayed.', 1),
  AUDITS_KEPT_DAYS: kept(0, 'How long the audit trails of accounts, desk and pool are kept. 0: for ever.'),
  OUTBOX_ENABLED: flag({
    or: true,
    about: 'Changes nothing: the outbox row is always written, and jobs are announced at once as well.',
  }),

  QUOTA_JOBS_WAITING: quota(10_000, 'Jobs of one account that wait at a time.'),
  QUOTA_STORED_BYTES: integer({
    min: 0,
    max: Number.MAX_SAFE_INTEGER,
    or: 268_435_456,
    about: 'Bytes stored for one account, all doors together.',
  }),
  QUOTA_WORKERS: quota(200, 'Workers of one account.'),
  QUOTA_SOCKETS: quota(20, 'Open WebSockets of one account, per process.'),
  QUOTA_SUBMISSIONS_WAITING: quota(50, 'Submissions of one account that wait for a verdict.'),
  QUOTA_OPEN_TASKS: quota(1000, 'Open desk tasks of one account.'),

  WORK_CONCURRENCY: integer({
    min: 1,
    max: 10_000,
    or: 50,
    about: 'Jobs of one kind that this process runs concurrently.',
  }),
  WS_QUEUE_LIMIT_MESSAGES: integer({
    min: 1,
    max: 100_000,
    or: 8,
    about: 'Queued messages per WebSocket before it is closed.',
  }),
  WS_QUEUE_LIMIT_BYTES: integer({
    min: 1024,
    max: 1_000_000_000,
    or: 65_536,
    about: 'Queued bytes per WebSocket before it is closed.',
  }),
  ALLOWED_ORIGINS: list({ or: [], about: 'Other origins whose pages may use the API (CORS) and open WebSockets.' }),
  ALLOWED_HOSTS: list({
    or: [],
    about: 'Host names that the server answers for, beside that of PUBLIC_URL. Empty: any.',
  }),
  OUTBOUND_CA_FILE: text({
    or: '',
    about: 'PEM file of private certificate authorities that outgoing requests trust beside the public ones.',
  }),
  CALLBACK_SLOW_RETRIES: integer({
    min: 0,
    max: 20,
    or: 0,
    about: 'Further attempts of a signed request after the first six, 5 minutes to a day apart.',
  }),
  OUTBOUND_ALLOW_CIDRS: list({ or: [], about: 'Private address ranges that outgoing requests may reach.' }),
  DRAIN_TIMEOUT_SEC: integer({
    min: 1,
    max: 3600,
    or: 30,
    about: 'How long a stopping process waits for work in flight.',
  }),
  ...TRACE_SETTINGS,
} satisfies Settings

export type Config = Values<typeof CORE_SETTINGS>

/** The only reader of the process environment. */
export const environment = (): Readonly<Record<string, string | undefined>> => process.env

export class InvalidConfig extends StartError {
  override name = 'InvalidConfig'
}

export interface AllSettings {
  core: Config
  /** Logged at start. */
  warnings: readonly string[]
  /** The settings of all doors in one table; each door reads its own names. */
  doors: Values<Settings>
}

/** Reads the core's table and those of the doors, and names every problem in one error. */
export function parseConfig(
  env: Readonly<Record<string, string | undefined>>,
  doorSettings: Settings,
  /** Those that DOORS may name. Default: not checked here. */
  doorNames?: readonly string[],
): AllSettings {
  const problems = unknownSettings(
    [...Object.keys(CORE_SETTINGS), ...Object.keys(doorSettings), ...Object.keys(UNUSED_SETTINGS)],
    env,
  )
  const core = readSettings(CORE_SETTINGS, env, problems)
  const doors = readSettings(doorSettings, env, problems)

  if (doorNames !== undefined && core.DOORS.some((name) => !doorNames.includes(name))) {
    problems.push(`DOORS: expected a comma-separated list of ${doorNames.join(', ')}, got "${env['DOORS']}"`)
  }
  if (core.JOB_HEARTBEAT_SEC * 3 > core.JOB_LEASE_SEC) {
    problems.push(
      `JOB_HEARTBEAT_SEC: at most a third of JOB_LEASE_SEC (${core.JOB_LEASE_SEC}), got ${core.JOB_HEARTBEAT_SEC}`,
    )
  }
  if (problems.length > 0) throw new InvalidConfig(`Invalid configuration:\n  ${problems.join('\n  ')}`)
  return { core, doors, warnings: unusedWarning(env) }
}

/** One sentence about all of them, or none. */
function unusedWarning(env: Readonly<Record<string, string | undefined>>): string[] {
  const named = Object.entries(UNUSED_SETTINGS)
    .filter(([name]) => env[name] !== undefined && env[name] !== '')
    .map(([name, instead]) => `${name} (${instead})`)
  return named.length === 0 ? [] : [`Settings without effect here: ${named.join(', ')}.`]
}

/** Null: the embedded server. */
export function databaseUrl(config: Config): string | null {
  if (config.DATABASE_URL !== '') return config.DATABASE_URL
  if (config.DB_HOST === '') return null
  const url = new URL(`postgres://${config.DB_HOST}:${config.DB_PORT}/${encodeURIComponent(config.DB_NAME)}`)
  url.username = encodeURIComponent(config.DB_USER) // the setter does not encode %
  url.password = encodeURIComponent(config.DB_PASSWORD)
  return url.href
}

/** Null: PostgreSQL is the feed and the bus. */
export function redisUrl(config: Config): string | null {
  if (config.REDIS_URL !== '') return config.REDIS_URL
  return config.REDIS_HOST === '' ? null : `redis://${config.REDIS_HOST}:${config.REDIS_PORT}`
}
