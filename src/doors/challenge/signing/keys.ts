// Which keys a side signs with and which it accepts. A key that is being rotated in or out is accepted until its date, so
// that both sides can switch at different moments without a refused request.
import type { ChallengeSettings } from '../settings.ts'

export interface HmacKey {
  keyId: string
  secret: string
  /** Null: no end. */
  notAfterMs: number | null
}

export interface KeyRing {
  /** Null: no secret is set, so nothing can be signed. */
  signing: HmacKey | null
  /** Secrets of further keys that are still valid. */
  further(nowMs: number): string[]
  /** Includes expired keys: the database's clock decides. Several keys may share an id during a rotation. */
  find(keyId: string): HmacKey[]
}

export interface DoorKeys {
  /** Keys of /solve. */
  solver: KeyRing
  /** Keys of /callback. */
  challenger: KeyRing
}

export function openKeys(settings: ChallengeSettings): DoorKeys {
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
    further: (nowMs) =>
      further.filter(({ notAfterMs }) => notAfterMs !== null && notAfterMs >= nowMs).map(({ secret }) => secret),
    find: (keyId) => all.filter((key) => key.keyId === keyId),
  }
}
