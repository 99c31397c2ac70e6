/** Something that a request did wrong, or that went wrong here, before a door has put it into its own words. */
export interface Problem {
  status: number
  /** Stable and machine-readable: bad_request, unauthorized, forbidden, not_found, too_large, rate_limited, internal_error … */
  code: string
  /** One sentence that says what to do. Never a secret, never a stack. */
  message: string
  /** For validation: which fields, and what is wrong with each. */
  fields?: readonly FieldProblem[]
  requestId: string
}

export interface FieldProblem {
  /** Where: ['body', 'name']. */
  path: readonly string[]
  message: string
  /** The rule that it broke: required, type, minLength … */
  rule: string
}
