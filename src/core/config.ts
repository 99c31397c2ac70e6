// The settings of the server itself. Each door adds a table of its own (doors/<door>/settings.ts).
import {
  flag,
  integer,
  list,
  oneOf,
  readSettings,
  text,
  unknownSettings,
  type Settings,
  type Values,
} from './settings.ts'
import { StartError } from './start-error.ts'

export const DOOR_NAMES = ['judge', 'challenge', 'pool', 'desk', 'arena'] as const

export const CORE_SETTINGS = {
  SERVER_HOST: text({ or: '127.0.0.1', about: 'Address to listen on. 0.0.0.0 opens it to the network.' }),
  SERVER_PORT: integer({ min: 0, max: 65_535, or: 8080, about: 'Port of HTTP and WebSocket, all doors.' }),
  PUBLIC_URL: text({ or: '', about: 'The address that users see, when a proxy stands in front.' }),
  TRUST_PROXY: flag({ or: false, about: 'Believe X-Forwarded-* headers: only behind a proxy that sets them.' }),
  DOORS: list({ or: DOOR_NAMES, values: DOOR_NAMES, about: 'Which doors are open.' }),
  LOG_LEVEL: oneOf({
    values: ['trace', 'debug', 'info', 'warn', 'error', 'silent'],
    or: 'info',
    about: 'How much is logged.',
  }),

  REEVE_DATA_DIR: text({ or: './data', about: 'Everything of a one-machine deployment: database and files.' }),
  DATABASE_URL: text({ or: '', secret: true, about: 'PostgreSQL 15 or newer. Empty: the embedded one.' }),
  DB_HOST: text({ or: '', about: 'In place of DATABASE_URL: the host.' }),
  DB_PORT: integer({ min: 1, max: 65_535, or: 5432, about: 'The port of DB_HOST.' }),
  DB_USER: text({ or: 'app', about: 'The user at DB_HOST.' }),
  DB_PASSWORD: text({ or: 'app_pass', secret: true, about: 'The password at DB_HOST.' }),
  DB_NAME: text({ or: 'app_db', about: 'The database at DB_HOST.' }),
  REDIS_URL: text({
    or: '',
    secret: true,
    about: 'Redis 6.2 or newer for feed and events. Empty: PostgreSQL does both.',
  }),
  REDIS_HOST: text({ or: '', about: 'In place of REDIS_URL: the host.' }),
  REDIS_PORT: integer({ min: 1, max: 65_535, or: 6379, about: 'The port of REDIS_HOST.' }),
  S3_ENDPOINT: text({ or: '', about: 'S3-compatible store for files. Empty: the data folder.' }),
  S3_BUCKET: text({ or: 'reeve', about: 'The bucket at S3_ENDPOINT.' }),
  S3_REGION: text({ or: 'us-east-1', about: 'The region at S3_ENDPOINT.' }),
  S3_ACCESS_KEY_ID: text({ or: '', secret: true, about: 'The access key at S3_ENDPOINT.' }),
  S3_SECRET_ACCESS_KEY: text({ or: '', secret: true, about: 'Its secret.' }),
  S3_FORCE_PATH_STYLE: flag({ or: true, about: 'Bucket in the path, as MinIO wants it, not in the host name.' }),

  AUTH_TOKEN_TTL_SECONDS: integer({ min: 1, max: 31_536_000, or: 3600, about: 'How long a login lasts.' }),
  LOGIN_RATE_LIMIT_WINDOW: integer({ min: 1, max: 86_400, or: 60, about: 'Seconds in which logins are counted.' }),
  LOGIN_RATE_LIMIT_MAX: integer({
    min: 1,
    max: 100_000,
    or: 5,
    about: 'Failed or not, logins per name and address in that window.',
  }),
  REEVE_ADMIN_USERNAME: text({ or: '', about: 'Created, or given the ADMIN role, at every start.' }),
  REEVE_ADMIN_PASSWORD: text({
    or: '',
    secret: true,
    about: 'Its password. Empty on the first start: a random one is printed once.',
  }),
  OPS_TOKEN: text({ or: '', secret: true, about: 'X-Ops-Token of /ops/status. Empty: closed.' }),

  JOB_LEASE_SEC: integer({ min: 1, max: 3600, or: 60, about: 'How long an attempt may go without a renewal.' }),
  JOB_HEARTBEAT_SEC: integer({
    min: 1,
    max: 1200,
    or: 20,
    about: 'How often it is renewed: at most a third of the lease.',
  }),
  JOB_MAX_ATTEMPTS: integer({ min: 1, max: 1000, or: 5, about: 'Attempts, reclaims counted, before a job is dead.' }),
  JOB_RETRY_BASE_MS: integer({
    min: 1,
    max: 3_600_000,
    or: 1000,
    about: 'Wait after the first failure; doubles with each.',
  }),
  JOB_RETRY_MAX_MS: integer({ min: 1, max: 86_400_000, or: 300_000, about: 'The longest wait between two attempts.' }),
  JOB_AGEING_SEC: integer({ min: 1, max: 86_400, or: 60, about: 'One priority level is worth this much waiting.' }),
  JOB_STREAM_KEY: text({ or: 'deepoj:jobs', about: 'Redis stream of judge jobs at normal priority.' }),
  JOB_STREAM_GROUP: text({ or: 'deepoj:workers', about: 'Its consumer group.' }),
  JOB_STREAM_CONSUMER: text({ or: '', about: 'Name in the group. Empty: WORKER_ID, else host and pid.' }),
  WORKER_ID: text({ or: '', about: 'Name of this process as the owner of leases. Empty: host and pid.' }),
  JOB_STREAM_MAXLEN: integer({ min: 1000, max: 100_000_000, or: 200_000, about: 'About where the stream is trimmed.' }),
  JOB_PAYLOAD_TTL_SEC: integer({ min: 1, max: 31_536_000, or: 86_400, about: 'How long Redis keeps a payload.' }),
  JOB_RECLAIM_INTERVAL_SEC: integer({ min: 1, max: 3600, or: 5, about: 'How often abandoned work is looked for.' }),
  JOB_RECLAIM_COUNT: integer({ min: 1, max: 1000, or: 16, about: 'How many are taken over at once.' }),
  JOB_RECLAIM_GRACE_SEC: integer({
    min: 0,
    max: 3600,
    or: 15,
    about: 'Idle time beyond the lease before a stream entry is claimed.',
  }),
  OUTBOX_KEPT_DAYS: integer({
    min: 1,
    max: 3650,
    or: 30,
    about: 'How long the log of deliveries is kept. Dead letters stay until they are replayed.',
  }),
  OUTBOX_ENABLED: flag({
    or: true,
    about: 'Changes nothing: the outbox row is always written, and jobs are announced at once as well.',
  }),

  WORK_CONCURRENCY: integer({
    min: 1,
    max: 10_000,
    or: 50,
    about: 'Jobs of one kind that this process runs at a time.',
  }),
  WS_QUEUE_LIMIT_MESSAGES: integer({
    min: 1,
    max: 100_000,
    or: 8,
    about: 'Messages waiting per WebSocket before it is closed.',
  }),
  WS_QUEUE_LIMIT_BYTES: integer({
    min: 1024,
    max: 1_000_000_000,
    or: 65_536,
    about: 'Bytes waiting per WebSocket before it is closed.',
  }),
  WS_ALLOWED_ORIGINS: list({ or: [], about: 'Other origins whose pages may open a WebSocket.' }),
  OUTBOUND_ALLOW_CIDRS: list({ or: [], about: 'Private ranges that outgoing requests may reach after all.' }),
  DRAIN_TIMEOUT_SEC: integer({ min: 1, max: 3600, or: 30, about: 'How long a stop waits for work in flight.' }),
} satisfies Settings

export type Config = Values<typeof CORE_SETTINGS>

/** The one place that looks at the process's environment. */
export const environment = (): Readonly<Record<string, string | undefined>> => process.env

export class InvalidConfig extends StartError {
  override name = 'InvalidConfig'
}

export interface AllSettings {
  core: Config
  /** Of all doors in one table: each reads its own names. */
  doors: Values<Settings>
}

/** Reads the core's table and those of the doors, and names every problem in one error. */
export function parseConfig(env: Readonly<Record<string, string | undefined>>, doorSettings: Settings): AllSettings {
  const problems = unknownSettings([...Object.keys(CORE_SETTINGS), ...Object.keys(doorSettings)], env)
  const core = readSettings(CORE_SETTINGS, env, problems)
  const doors = readSettings(doorSettings, env, problems)

  if (core.JOB_HEARTBEAT_SEC * 3 > core.JOB_LEASE_SEC) {
    problems.push(
      `JOB_HEARTBEAT_SEC: at most a third of JOB_LEASE_SEC (${core.JOB_LEASE_SEC}), got ${core.JOB_HEARTBEAT_SEC}`,
    )
  }
  if (problems.length > 0) throw new InvalidConfig(`Invalid configuration:\n  ${problems.join('\n  ')}`)
  return { core, doors }
}

/** Where the database is, or null for the embedded one. */
export function databaseUrl(config: Config): string | null {
  if (config.DATABASE_URL !== '') return config.DATABASE_URL
  if (config.DB_HOST === '') return null
  const url = new URL(`postgres://${config.DB_HOST}:${config.DB_PORT}/${encodeURIComponent(config.DB_NAME)}`)
  url.username = encodeURIComponent(config.DB_USER) // the setter lets % through
  url.password = encodeURIComponent(config.DB_PASSWORD)
  return url.href
}

/** Where Redis is, or null where PostgreSQL is feed and bus as well. */
export function redisUrl(config: Config): string | null {
  if (config.REDIS_URL !== '') return config.REDIS_URL
  return config.REDIS_HOST === '' ? null : `redis://${config.REDIS_HOST}:${config.REDIS_PORT}`
}
