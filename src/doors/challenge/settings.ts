// The settings of the challenge door. docs/challenge.md describes them with the clauses that use them.
import { INSECURE_CALLBACKS } from '../../core/outbound/callback-url.ts'
import { flag, integer, list, text, type Setting, type Settings, type Values } from '../../core/settings.ts'
import type { HmacKey } from './signing/keys.ts'

const EXTRA_KEY = /^([\x21\x23-\x2b\x2d-\x3c\x3e-\x7e]{1,255})=(.+)@(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)$/

/** keyId=secret@2026-12-31T00:00:00Z, several separated by commas. */
function extraKeys(about: string): Setting<readonly HmacKey[]> {
  const parse = (raw: string) => {
    const keys: HmacKey[] = []
    for (const item of raw.split(',')) {
      const [, keyId, secret, notAfter] = EXTRA_KEY.exec(item.trim()) ?? []
      const notAfterMs = Date.parse(notAfter ?? '')
      if (keyId === undefined || secret === undefined || Number.isNaN(notAfterMs))
        return { expected: 'keyId=secret@2026-12-31T00:00:00Z, several separated by commas' }
      keys.push({ keyId, secret, notAfterMs })
    }
    return keys
  }
  return { parse, or: [], about, secret: true }
}

const SKEW_SEC_DEFAULT = 300

/** Systems that speak the same protocol take 0 as "the default". */
function clockSkew(): Setting<number> {
  const about = 'Allowed difference between a signed timestamp and the database clock. 0 means the default.'
  const seconds = integer({ min: 0, max: 86_400, or: SKEW_SEC_DEFAULT, about })
  return { ...seconds, parse: (raw) => seconds.parse(/^0+$/.test(raw) ? String(SKEW_SEC_DEFAULT) : raw) }
}

export const CHALLENGE_SETTINGS = {
  CHAL_HMAC_KEY_ID: text({
    or: 'chal-kid-1',
    pattern: /^[\x21\x23-\x2b\x2d-\x7e]{1,255}$/,
    about: 'Key id of callbacks: the Solver signs with it, the Challenger accepts it.',
  }),
  CHAL_HMAC_SECRET: text({
    or: '',
    secret: true,
    about: 'Secret of CHAL_HMAC_KEY_ID. Empty: no callback is signed or accepted.',
  }),
  CHAL_HMAC_EXTRA_KEYS: extraKeys('Further keys accepted on callbacks, each until its date.'),
  SOLVER_HMAC_KEY_ID: text({
    or: 'solver-kid-1',
    pattern: /^[\x21\x23-\x2b\x2d-\x7e]{1,255}$/,
    about: 'Key id of /solve: the Challenger signs with it, the Solver accepts it.',
  }),
  SOLVER_HMAC_SECRET: text({
    or: '',
    secret: true,
    about: 'Secret of SOLVER_HMAC_KEY_ID. Empty: no /solve is signed or accepted.',
  }),
  SOLVER_HMAC_EXTRA_KEYS: extraKeys('Further keys accepted on /solve, each until its date.'),
  SHARED_SECRET_KEY: text({
    or: '',
    secret: true,
    about: 'One secret for both key ids; takes precedence over the two.',
  }),
  CLOCK_SKEW_SECONDS: clockSkew(),
  PUBLIC_CALLBACK_HOST: text({
    or: '',
    about:
      'Base URL at which Solvers reach this Challenger, for example https://challenger.example.org. Empty: PUBLIC_URL.',
  }),
  SOLVER_URL: text({
    or: '',
    about: 'Base URL of the Solver that challenges are sent to unless the request names another.',
  }),
  SOLVER_PLUGINS: list({
    or: [],
    about: 'Paths of modules that solve further problem types. They run with the rights of the server.',
  }),
  SOLVER_PLUGIN_SECONDS: integer({
    min: 1,
    max: 3600,
    or: 30,
    about: 'Time limit of a plug-in, unless the problem sets a shorter one.',
  }),
  SOLVER_WAIT_SECONDS: integer({
    min: 1,
    max: 2_592_000,
    or: 86_400,
    about: 'Time limit of a problem that another door solves (captcha, code), unless the problem sets a shorter one.',
  }),
  ALLOW_INSECURE_CALLBACKS: INSECURE_CALLBACKS,
  HTTPS_ONLY: flag({
    or: false,
    about: 'Redirect requests of this door to https. Behind a proxy it needs TRUST_PROXY.',
  }),
  CHALLENGE_CORS_ORIGIN: text({
    or: '*',
    about: 'Origin whose pages may read the responses of this door; none: no other origin.',
  }),
} satisfies Settings

export type ChallengeSettings = Values<typeof CHALLENGE_SETTINGS>
