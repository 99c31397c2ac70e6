// A task's row. A lock whose time is up counts as none from that moment on, even before the sweep has released it: every query reads
// the row through these columns.

const LAPSED = `(t.locked_until is not null and t.locked_until <= clock_timestamp())`

/** `t` is captcha_task. */
export const STATUS = `case when ${LAPSED} then 'pending' else t.status end`

export const COLUMNS = `t.id, t.uuid, t.job_id, t.account_id, t.url, t.domain, ${STATUS} as status, t.challenge_type,
  t.error_message, t.priority, case when ${LAPSED} then null else t.assigned_to end as assigned_to, t.attempts,
  case when ${LAPSED} then null else t.locked_until end as locked_until,
  case when ${LAPSED} then t.assigned_to else t.lapsed_from end as lapsed_from, ${LAPSED} as is_lapsed,
  t.solver_result is not null as has_solution, t.solver_expires_at, t.last_error, t.preview_type, t.proxy_id,
  t.proxy_shown, t.user_agent, t.request_id, t.metadata, t.scrape_options, t.callback_url, t.form, t.claimed_at, t.unclaimed_since, t.reported_at, t.overdue_at,
  t.created_at, t.updated_at, t.ended_at, clock_timestamp() as now`

export const OPEN_STATUSES = ['pending', 'in_progress', 'solving', 'failed'] as const
const ENDED_STATUSES = ['solved', 'expired', 'unsolvable'] as const
export const STATUSES = [...OPEN_STATUSES, ...ENDED_STATUSES] as const

export type TaskStatus = (typeof STATUSES)[number]

export const isEndedStatus = (status: TaskStatus): boolean => ENDED_STATUSES.some((ended) => ended === status)

export interface TaskRow {
  id: string
  uuid: string
  job_id: string
  account_id: string
  url: string
  domain: string
  status: TaskStatus
  challenge_type: string | null
  error_message: string | null
  priority: number
  assigned_to: string | null
  attempts: number
  locked_until: Date | null
  /** The operator whose lock ran out or was taken away, if nobody has claimed the task since. */
  lapsed_from: string | null
  /** The lock is over and has not been released yet. */
  is_lapsed: boolean
  has_solution: boolean
  solver_expires_at: Date | null
  last_error: string | null
  preview_type: string | null
  proxy_id: string | null
  proxy_shown: string | null
  user_agent: string | null
  request_id: string | null
  metadata: Readonly<Record<string, unknown>>
  /** As the creator gave it: kept and returned, never read. */
  scrape_options: unknown
  callback_url: string | null
  form: Form | null
  claimed_at: Date | null
  unclaimed_since: Date | null
  reported_at: Date | null
  /** Since when it waits, or is held, for too long. */
  overdue_at: Date | null
  created_at: Date
  updated_at: Date
  ended_at: Date | null
  /** By the database's clock, when it was read. */
  now: Date
}

/** With what only a view of one task shows. */
export interface WholeTaskRow extends TaskRow {
  /** Sealed. */
  solver_result: string | null
  images: readonly Image[] | null
}

export interface Image {
  type: string
  base64: string
}

/** A question to a person: what is shown, and what can be answered. */
export interface Form {
  question: string
  fields: readonly FormField[]
}

export type FormField =
  | { type: 'text'; name: string; label?: string; min_length?: number; max_length?: number; digits_only?: boolean }
  | { type: 'choice'; name: string; label?: string; options: readonly string[]; multiple?: boolean }
  /** Shown, not answered. `image` is the index of the picture in `images`. */
  | { type: 'image'; name: string; label?: string; image: number }
