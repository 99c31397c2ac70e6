// Tokens and API keys are random and long, so that one fast hash is enough to store them by.
import { createHash } from 'node:crypto'

export const hashSecret = (secret: string): Buffer => createHash('sha256').update(secret).digest()

/** What a request showed to say who it is. */
export interface Credential {
  kind: 'token' | 'api_key'
  secret: string
}
