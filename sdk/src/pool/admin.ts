import type { ReeveClient } from '../client.ts'
import type { PoolReputation } from './client.ts'

/** A worker as admins see it: with what canaries and other workers say of its results. */
export interface PoolStanding extends PoolReputation {
  name: string
  owner_user_id: number
  /** Null: the account is gone. */
  owner: string | null
  status: 'online' | 'offline' | 'banned' | 'removed'
  paused: boolean
  canaries_passed: number
  canaries_wrong: number
  agreed: number
  disagreed: number
  /** Canaries passed since others last disagreed with it. */
  proven: number
  registered_at: string
  last_seen_at: string | null
}

export interface PoolStandingStory extends PoolStanding {
  /** Newest first. */
  audit: { action: string; reason: string | null; actor_id: number | null; actor: string | null; created_at: string }[]
}

export interface PoolCanary {
  canary_id: number
  region: string | null
  specs: unknown
  payload: unknown
  expected_hash: string
  created_at: string
  /** How many workers were given it. */
  used_by: number
}

/** What admins do with the pool. Needs the role ADMIN. */
export class PoolAdminClient {
  readonly #client: ReeveClient

  constructor(client: ReeveClient) {
    this.#client = client
  }

  /** Ordered by id. */
  async workers({ banned, ...page }: { after?: number; limit?: number; banned?: boolean } = {}): Promise<
    PoolStanding[]
  > {
    const query = { ...page, ...(banned === undefined ? {} : { banned: String(banned) }) }
    return (await this.#client.request<{ workers: PoolStanding[] }>('GET', '/admin/pool/workers', { query })).workers
  }

  worker(workerId: number): Promise<PoolStandingStory> {
    return this.#client.request('GET', `/admin/pool/workers/${workerId}`)
  }

  /** Its assignment goes to another worker, and its votes no longer count. */
  async ban(workerId: number, reason: string): Promise<void> {
    await this.#client.request('POST', `/admin/pool/workers/${workerId}/ban`, { body: { reason } })
  }

  /** The worker starts over on probation. */
  async unban(workerId: number, reason?: string): Promise<void> {
    await this.#client.request('POST', `/admin/pool/workers/${workerId}/unban`, {
      body: reason === undefined ? {} : { reason },
    })
  }

  /** Those in use, ordered by id. */
  async canaries(page: { after?: number; limit?: number } = {}): Promise<PoolCanary[]> {
    type Answer = { canaries: PoolCanary[] }
    return (await this.#client.request<Answer>('GET', '/admin/pool/canaries', { query: { ...page } })).canaries
  }

  /** A job with a known output. Both are JSON texts of objects: workers get the payload byte for byte. */
  addCanary(canary: { payloadText: string; outputText: string; region?: string }): Promise<{ canary_id: number }> {
    const requirements =
      canary.region === undefined ? '' : `,"requirements":${JSON.stringify({ region: canary.region })}`
    const text = `{"payload":${canary.payloadText},"output":${canary.outputText}${requirements}}`
    return this.#client.request('POST', '/admin/pool/canaries', { text })
  }

  /** No worker gets it any more. */
  retireCanary(canaryId: number): Promise<void> {
    return this.#client.request('DELETE', `/admin/pool/canaries/${canaryId}`)
  }
}
