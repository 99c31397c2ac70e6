// argon2id with the parameters that OWASP recommends (19 MiB, two passes). A hash takes tens of milliseconds of CPU time, so
// that both the number of concurrent hashes and the queue are bounded.
import { hash, verify } from '@node-rs/argon2'
import { Semaphore } from '../../concurrency/semaphore.ts'

const PARAMETERS = { memoryCost: 19_456, timeCost: 2, parallelism: 1 }
const AT_ONCE_MAX = 2
const WAITING_MAX = 500
const PASSWORD_CHARS_MIN = 8
const PASSWORD_CHARS_MAX = 1024

/** What a login may try. The maximum keeps hashing cheap. */
export const isPassword = (password: string): boolean => password.length > 0 && password.length <= PASSWORD_CHARS_MAX

/** What an account may choose. */
export const isNewPassword = (password: string): boolean =>
  password.length >= PASSWORD_CHARS_MIN && isPassword(password)

export interface Passwords {
  hash(password: string): Promise<string>
  /**
   * With null, for an unknown name, or an empty hash, for an account without a password, it takes as long and returns false:
   * the timing does not reveal which names exist.
   */
  verify(passwordHash: string | null, password: string): Promise<boolean>
}

export function openPasswords(): Passwords {
  // Two queues: a flood of registrations does not delay logins.
  const logins = new Semaphore({
    permits: AT_ONCE_MAX,
    waitingMax: WAITING_MAX,
    overloaded: 'Too many logins are waiting.',
  })
  const registrations = new Semaphore({
    permits: 1,
    waitingMax: WAITING_MAX,
    overloaded: 'Too many registrations are waiting.',
  })
  let dummy: Promise<string> | null = null

  return {
    hash: (password) => registrations.run(() => hash(password, PARAMETERS)),
    async verify(passwordHash, password) {
      dummy ??= hash('nobody has this password', PARAMETERS)
      const isKnown = passwordHash !== null && passwordHash !== ''
      const compared = isKnown ? passwordHash : await dummy
      const matches = await logins.run(() => verify(compared, password))
      return matches && isKnown
    },
  }
}
