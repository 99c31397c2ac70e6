// The desk's settings. docs/settings.md lists names and defaults.
import { flag, integer, oneOf, text, type Setting, type Settings, type Values } from '../../core/settings.ts'
import { INSECURE_CALLBACKS } from '../../core/outbound/callback-url.ts'
import type { SealKey } from './solutions/seal.ts'

const KEY = /^([A-Za-z0-9_-]{1,40}):([A-Za-z0-9+/]{43}=)$/

/** name:base64 of 32 bytes, several separated by commas. */
function sealKeys(about: string): Setting<readonly SealKey[]> {
  const expected = 'name:key, with a key of 32 bytes in base64, several separated by commas'
  const parse = (raw: string) => {
    const keys: SealKey[] = []
    for (const item of raw.split(',')) {
      const [, id, base64] = KEY.exec(item.trim()) ?? []
      if (id === undefined || base64 === undefined || keys.some((known) => known.id === id)) return { expected }
      keys.push({ id, key: Buffer.from(base64, 'base64') })
    }
    return keys
  }
  return { parse, or: [], about, secret: true }
}

function proxyUrls(about: string): Setting<readonly string[]> {
  const parse = (raw: string) => {
    const urls = raw.split(',').map((item) => item.trim())
    const isProxy = (url: string) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
    return urls.every(isProxy) ? urls : { expected: 'a comma-separated list of http://user:password@host:port' }
  }
  return { parse, or: [], about, secret: true }
}

const seconds = (min: number, max: number, or: number, about: string) => integer({ min, max, or, about })

const DAY = 86_400

export const DESK_SETTINGS = {
  CAPTCHA_AUTH: oneOf({
    values: ['on', 'off'],
    or: 'on',
    about: 'off: no credentials are needed. Only for a network where everyone is trusted.',
  }),
  CAPTCHA_SESSION_TTL: seconds(
    1,
    DAY,
    900,
    'Seconds that a session is cached unless its solution or cookies expire before.',
  ),
  CAPTCHA_SESSION_MAX_TTL: seconds(1, DAY, 3600, 'Maximum time in seconds that a session is cached.'),
  CAPTCHA_TASK_TIMEOUT: seconds(1, 30 * DAY, 600, 'Seconds after which a task that nobody has claimed expires.'),
  CAPTCHA_TASK_LOCK_TTL: seconds(60, 7200, 1800, 'Seconds of a lock for which the operator names no time.'),
  CAPTCHA_DEFAULT_PRIORITY: integer({
    min: 1,
    max: 10,
    or: 5,
    about: 'Priority of a task that names none; 10 is urgent.',
  }),
  CAPTCHA_WORKER_WAIT_TIMEOUT: seconds(1, 30 * DAY, 900, 'Seconds that the SDKs wait for a solution by default.'),
  ALLOW_INSECURE_CALLBACKS: INSECURE_CALLBACKS,
  CAPTCHA_SLA_CLAIM_SECONDS: seconds(
    0,
    30 * DAY,
    120,
    'Seconds of waiting after which a task is reported as overdue. 0: never.',
  ),
  CAPTCHA_SLA_SOLVE_SECONDS: seconds(
    0,
    30 * DAY,
    900,
    'Seconds of holding after which a task is reported as overdue. 0: never.',
  ),
  CAPTCHA_KEEP_HOURS: integer({
    min: 1,
    max: 8760,
    or: 24,
    about: 'Hours after which solutions and previews are deleted.',
  }),
  CAPTCHA_OPERATOR_RATE_LIMIT: integer({
    min: 1,
    max: 1_000_000,
    or: 6000,
    about: 'Requests per minute with which one operator may change tasks.',
  }),
  CAPTCHA_DOMAIN_RATE_LIMIT: integer({
    min: 1,
    max: 1_000_000,
    or: 6000,
    about: 'Tasks per minute that may be created for one domain.',
  }),
  CAPTCHA_ENCRYPTION_KEYS: sealKeys(
    'Encryption keys: the first encrypts, all decrypt. Empty: one is made in the data folder.',
  ),

  CAPTCHA_REDIS_PREFIX: text({ or: 'captcha', about: 'Prefix of those keys below that are left at their default.' }),
  CAPTCHA_SESSION_KEY_PREFIX: text({ or: 'captcha:session', about: 'Redis keys of sessions: PREFIX:domain.' }),
  CAPTCHA_REDIS_SESSIONS: oneOf({
    values: ['sealed', 'plain'],
    or: 'sealed',
    about: 'plain: sessions in Redis can be read by every program that reaches it.',
  }),
  CAPTCHA_TASK_LOCK_KEY_PREFIX: text({ or: 'captcha:task', about: 'Redis keys of locks: PREFIX:id:lock.' }),
  CAPTCHA_QUEUE_KEY: text({
    or: 'captcha:queue:pending',
    about: 'Redis sorted set of pending tasks, most urgent first.',
  }),
  CAPTCHA_EVENTS_CHANNEL: text({ or: 'captcha:events', about: 'Redis channel of events.' }),

  FRAME_HOST: text({
    or: 'frame.localhost',
    pattern: /^[a-z0-9.-]+(:\d{1,5})?$/,
    about: 'Another host name of this server, at which pages of tasks are shown; not that of PUBLIC_URL.',
  }),
  CAPTCHA_PROXY_IMPERSONATE: text({
    or: 'chrome124',
    about: 'Browser that the frame impersonates towards allowed domains (needs impit). none: a plain client.',
  }),
  CAPTCHA_PROXY_TIMEOUT: seconds(1, 300, 30, 'Seconds within which a page of the frame must load.'),
  CAPTCHA_PROXIES: proxyUrls('The proxies that a task may name.'),
  CAPTCHA_PREVIEW_ENABLED: flag({ or: true, about: 'Accept screenshots with tasks.' }),
  CAPTCHA_PREVIEW_DIR: text({ or: '', about: 'Folder of the screenshots. Empty: the common file store.' }),
} satisfies Settings

export type DeskSettings = Values<typeof DESK_SETTINGS>
