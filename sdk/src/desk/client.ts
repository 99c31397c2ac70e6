// The operators' and supervisors' side of the desk: list, claim, look, solve; who works on what. `desk.ts` has the programs' side.
import type { ReeveClient } from '../client.ts'
import type { CaptchaTask, TaskStatus } from './desk.ts'

const API = '/api/v1/captcha'

/** A task in a list. */
export interface DeskTask extends CaptchaTask {
  error_message: string | null
  locked_until: string | null
  preview_path: string | null
  request_id: string | null
  metadata: Readonly<Record<string, unknown>>
  form: DeskForm | null
  /** Since when it waits, or is held, for too long. */
  overdue_at: string | null
}

export interface DeskForm {
  question: string
  fields: readonly DeskField[]
}

export type DeskField =
  | { type: 'text'; name: string; label?: string; min_length?: number; max_length?: number; digits_only?: boolean }
  | { type: 'choice'; name: string; label?: string; options: readonly string[]; multiple?: boolean }
  /** In a single task `image` is a `data:` URL. */
  | { type: 'image'; name: string; label?: string; image: string | number | null }

export interface DeskCookie {
  name: string
  value: string
  domain?: string
  path?: string
  /** ISO 8601. */
  expires_at?: string
  secure?: boolean
  http_only?: boolean
  sameSite?: string
}

export interface ListDeskTasks {
  status?: TaskStatus
  /** Only tasks that have not ended. */
  open?: boolean
  domain?: string
  assigned_to?: string
  min_priority?: number
  challenge_type?: string
  /** Text in the address, the error, the request id, the type or the uuid of an open task. */
  q?: string
  /** Created so many seconds ago, or earlier. */
  older_than?: number
  /** Only tasks that wait, or are held, for too long. */
  overdue?: true
  order?: 'priority' | 'newest'
  /** `next_after` of the page before. */
  after?: string
  limit?: number
}

export interface DeskTaskPage {
  tasks: DeskTask[]
  total: number
  next_after: string | null
}

export interface DeskSolution {
  type: 'cookie' | 'session' | 'token' | 'answer'
  payload: unknown
  user_agent?: string
  expires_at?: string
  notes?: string
}

export interface DeskEnded {
  message: string
  task: DeskTask
  session_cached: boolean
  session_ttl: number | null
}

export interface DeskAuditEntry {
  audit_id: number
  at: string
  action: string
  actor: string
  uuid: string | null
  domain: string | null
  operator: string | null
  detail: string | null
  waited_ms: number | null
  held_ms: number | null
}

export interface DeskOperator {
  operator: string
  claimed: number
  solved: number
  unsolvable: number
  failed: number
  released: number
  lapsed: number
  stolen: number
  reported_bad: number
  claim_ms_p50: number | null
  claim_ms_p95: number | null
  solve_ms_p50: number | null
  solve_ms_p95: number | null
}

export interface DeskFigures {
  open: number
  waiting: number
  claimed: number
  overdue: number
  oldest_waiting_at: string | null
  hours: { hour: string; created: number; solved: number; unsolvable: number; expired: number }[]
}

export interface DeskDomain {
  domain: string
  reason: string
  added_by: string
  added_at: string
}

/** Needs an account with the role OPERATOR, or ADMIN where it says so. */
export class DeskClient {
  readonly #client: ReeveClient

  constructor(client: ReeveClient) {
    this.#client = client
  }

  /** Most urgent first, then the oldest. */
  list({ open, overdue, ...filter }: ListDeskTasks = {}): Promise<DeskTaskPage> {
    const flags = { open: open === undefined ? open : String(open), overdue: overdue === undefined ? overdue : 'true' }
    const query = { ...filter, ...flags }
    return this.#client.request('GET', `${API}/tasks`, { query })
  }

  get(uuid: string): Promise<DeskTask> {
    return this.#client.request('GET', pathOf(uuid))
  }

  /** Claims a task for `operator`, the name of this account, or renews the claim. */
  claim(uuid: string, operator: string, lockSec?: number): Promise<{ task: DeskTask; locked_until: string }> {
    const body = { operator_id: operator, ...(lockSec === undefined ? {} : { lock_duration_seconds: lockSec }) }
    return this.#client.request('POST', `${pathOf(uuid)}/assign`, { body })
  }

  release(uuid: string): Promise<DeskTask> {
    return this.#client.request('POST', `${pathOf(uuid)}/release`)
  }

  solve(uuid: string, solution: DeskSolution): Promise<DeskEnded> {
    return this.#client.request('POST', `${pathOf(uuid)}/solve`, { body: solution })
  }

  markUnsolvable(uuid: string, reason: string): Promise<DeskEnded> {
    return this.#client.request('POST', `${pathOf(uuid)}/mark-unsolvable`, { body: { reason } })
  }

  /** An address for an iframe that shows the page of a task that this account holds. It works once. */
  frame(uuid: string): Promise<{ url: string; expires_at: string }> {
    return this.#client.request('POST', `${pathOf(uuid)}/frame`)
  }

  /** The cookies that the page in the frame has set. */
  async proposedCookies(uuid: string): Promise<DeskCookie[]> {
    return (await this.#client.request<{ cookies: DeskCookie[] }>('GET', `${pathOf(uuid)}/cookies`)).cookies
  }

  /** ADMIN: gives the task to an operator, whoever holds it. */
  reassign(uuid: string, operator: string): Promise<DeskTask> {
    return this.#client.request('POST', `${pathOf(uuid)}/reassign`, { body: { operator_id: operator } })
  }

  /** Newest first. An operator sees what they did themselves. */
  audit(
    filter: { uuid?: string; actor?: string; action?: string; before?: number; limit?: number } = {},
  ): Promise<{ entries: DeskAuditEntry[]; next_before: number | null }> {
    return this.#client.request('GET', `${API}/audit`, { query: { ...filter } })
  }

  /** Figures of each operator; an operator sees their own. */
  async operators(hours?: number): Promise<DeskOperator[]> {
    const query = hours === undefined ? {} : { hours }
    return (await this.#client.request<{ operators: DeskOperator[] }>('GET', `${API}/operators`, { query })).operators
  }

  figures(hours?: number): Promise<DeskFigures> {
    return this.#client.request('GET', `${API}/figures`, { query: hours === undefined ? {} : { hours } })
  }

  domains(
    page: { after?: string; limit?: number } = {},
  ): Promise<{ domains: DeskDomain[]; next_after: string | null }> {
    return this.#client.request('GET', `${API}/domains`, { query: { ...page } })
  }

  /** ADMIN. */
  allowDomain(domain: string, reason: string): Promise<DeskDomain> {
    return this.#client.request('POST', `${API}/domains`, { body: { domain, reason } })
  }

  /** ADMIN. */
  async removeDomain(domain: string): Promise<void> {
    await this.#client.request('DELETE', `${API}/domains/${encodeURIComponent(domain)}`)
  }
}

const pathOf = (uuid: string): string => `${API}/tasks/${encodeURIComponent(uuid)}`
