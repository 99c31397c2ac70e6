import type { ReeveClient } from './client.ts'
import type { DeliveryAttempt } from './deliveries.ts'

export type ValidationRule =
  | { type: 'ExactMatch'; params?: { case_sensitive?: boolean } }
  | { type: 'NumericTolerance'; params?: { tolerance?: number } }
  | { type: 'Regex'; params: { pattern: string } }

export interface NewChallenge {
  challenge_id?: string
  problem: { type: string; [field: string]: unknown }
  output_spec?: unknown
  validation_rule: ValidationRule
  answer: string
  constraints?: { timeout_ms?: number; deadline_ts?: number }
}

/** `deadline_passed`: sent, and no result came before `constraints.deadline_ts`. */
export type ChallengeState = 'created' | 'sending' | 'accepted' | 'send_failed' | 'deadline_passed' | 'completed'

export interface Challenge {
  challenge_id: string
  state: ChallengeState
  problem: unknown
  output_spec: unknown
  constraints: unknown
  validation_rule: ValidationRule
  answer: string
  solver_job_id: string | null
  created_at: string
  sent_at: string | null
  completed_at: string | null
}

export interface ChallengeResult {
  request_id: string
  status: string
  answer: string | null
  error_code: string | null
  error_message: string | null
  /** Null: there was no answer to check. */
  is_correct: boolean | null
  rule: string
  is_final: boolean
  solver_job_id: string | null
  metadata: unknown
  created_at: string
}

export interface ChallengeDelivery extends DeliveryAttempt {
  direction: 'send'
  request_id: string
}

/** A callback as it arrived, whatever its outcome. */
export interface ChallengeCallback {
  request_id: string
  /** All but secrets, and without the signature. */
  headers: Record<string, string>
  body_hash: string
  status_code: number
  outcome: 'recorded' | 'duplicate' | 'conflict' | 'refused'
  created_at: string
}

export interface ChallengeStory extends Challenge {
  results: ChallengeResult[]
  deliveries: ChallengeDelivery[]
  callbacks: ChallengeCallback[]
}

export interface ChallengePage {
  challenges: Challenge[]
  /** `before` of the next page; null: the last one. */
  next_before: number | null
}

/** The Challenger's side of the challenge door. Needs an account with the role CHALLENGER. */
export class ChallengesClient {
  readonly #client: ReeveClient

  constructor(client: ReeveClient) {
    this.#client = client
  }

  /** With an idempotency key, the same create may be repeated until it is answered: it creates one challenge. */
  create(challenge: NewChallenge, options: { idempotencyKey?: string } = {}): Promise<Challenge> {
    const { idempotencyKey } = options
    const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
    return this.#client.request('POST', '/challenges', { body: challenge, headers })
  }

  /** Queued and retried like a callback; `get` shows its attempts. With an idempotency key, a repeated call sends once. */
  send(
    challengeId: string,
    { idempotencyKey, ...body }: { solver_url?: string; idempotencyKey?: string } = {},
  ): Promise<{ challenge_id: string; request_id: string }> {
    const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }
    return this.#client.request('POST', `${pathOf(challengeId)}/send`, { body, headers })
  }

  get(challengeId: string): Promise<ChallengeStory> {
    return this.#client.request('GET', pathOf(challengeId))
  }

  list(filter: { before?: number; limit?: number } = {}): Promise<ChallengePage> {
    return this.#client.request('GET', '/challenges', { query: { ...filter } })
  }
}

const pathOf = (challengeId: string): string => `/challenges/${encodeURIComponent(challengeId)}`
