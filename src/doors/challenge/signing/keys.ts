// Which keys a side signs with and which it accepts. A key that is being rotated out or in is accepted until its date, so
// that both sides can change at different moments and no request is refused.
import type { ChallengeSettings } from '../settings.ts'

export interface HmacKey {
  keyId: string
  secret: string
  /** Null: no end. */
  notAfterMs: number | null
}

export interface KeyRing {
  /** Null: none is set, and nothing can be signed. */
  signing: HmacKey | null
  /** By id, also those whose time is over: the database's clock judges that. Several may share an id while it is rotated. */
  find(keyId: string): HmacKey[]
}

export interface Keys {
  /** Of /solve. */
  solver: KeyRing
  /** Of /callback. */
  challenger: KeyRing
}

export function openKeys(settings: ChallengeSettings): Keys {
  const { SHARED_SECRET_KEY: shared } = settings
  const chal = keyOf(settings.CHAL_HMAC_KEY_ID, shared || settings.CHAL_HMAC_SECRET)
  const solver = keyOf(settings.SOLVER_HMAC_KEY_ID, shared || settings.SOLVER_HMAC_SECRET)
  // With a shared secret both sides know both key ids.
  const both = shared === '' ? [] : [...chal, ...solver]
  return {
    solver: ring(solver, [...both, ...settings.SOLVER_HMAC_EXTRA_KEYS]),
    challenger: ring(chal, [...both, ...settings.CHAL_HMAC_EXTRA_KEYS]),
  }
}

const keyOf = (keyId: string, secret: string): HmacKey[] => (secret === '' ? [] : [{ keyId, secret, notAfterMs: null }])

function ring(main: readonly HmacKey[], further: readonly HmacKey[]): KeyRing {
  const all = [...main, ...further]
  return {
    signing: main[0] ?? null,
    find: (keyId) => all.filter((key) => key.keyId === keyId),
  }
}
