// Tokens and API keys are long and random, so that a fast hash is enough to store them.
import { createHash } from 'node:crypto'

export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest()

/** What a request authenticates with. */
export interface Credential {
  kind: 'token' | 'api_key'
  secret: string
  /** The token came in the session cookie. */
  isCookie?: boolean
}
