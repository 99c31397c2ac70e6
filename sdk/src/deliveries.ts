import type { ReeveClient } from './client.ts'

export interface Delivery {
  delivery_id: number
  /** challenge_callback, challenge_send, pool_callback, … */
  topic: string
  /** What it is about: a challenge id, a job id. */
  subject: string
  url: string
  request_id: string
  status: 'pending' | 'delivered' | 'dead'
  /** Since the last replay. */
  attempts: number
  last_error: string | null
  created_at: string
}

export interface DeliveryAttempt {
  attempt: number
  url: string
  /** Null: no answer. */
  status_code: number | null
  error: string | null
  /** Code of the system or of TLS, such as ECONNREFUSED. */
  cause: string | null
  /** Error code in the body of the answer. */
  peer_code: string | null
  duration_ms: number
  created_at: string
}

export interface DeliveryStory extends Delivery {
  /** What is sent, up to 100,000 characters. */
  body: string
  is_body_cut: boolean
  /** Newest first. */
  log: DeliveryAttempt[]
}

export interface ListDeliveries {
  /** Default `dead`. */
  status?: Delivery['status']
  topic?: string
  before?: number
  limit?: number
}

/** Signed requests of all doors: callbacks and sends. Needs an account with the role ADMIN. */
export class DeliveriesClient {
  readonly #client: ReeveClient

  constructor(client: ReeveClient) {
    this.#client = client
  }

  /** Newest first; by default the dead letters. */
  async list(filter: ListDeliveries = {}): Promise<Delivery[]> {
    type Page = { deliveries: Delivery[] }
    return (await this.#client.request<Page>('GET', '/admin/deliveries', { query: { ...filter } })).deliveries
  }

  /** With its body and its attempts. */
  get(deliveryId: number): Promise<DeliveryStory> {
    return this.#client.request('GET', `/admin/deliveries/${deliveryId}`)
  }

  /** Sends a dead letter again, with the same body and request id. */
  replay(deliveryId: number): Promise<{ replayed: number[] }> {
    return this.#client.request('POST', `/admin/deliveries/${deliveryId}/replay`)
  }

  /** Sends all dead letters again that were queued since a time (ISO 8601), or all: up to 10,000, the oldest first. */
  replayAll(choice: { since?: string; topic?: string } = {}): Promise<{ replayed: number[] }> {
    return this.#client.request('POST', '/admin/deliveries/replay', { body: choice })
  }
}
