/** The body of an error, as the door that was asked words it. */
export type ReeveErrorBody = unknown

/** The server refused. `status` is HTTP's; `message` is what the server said. */
export class ReeveError extends Error {
  override name = 'ReeveError'
  readonly status: number
  readonly body: ReeveErrorBody
  /** To be quoted to whoever runs the server. */
  readonly requestId: string | null

  constructor(status: number, body: ReeveErrorBody, requestId: string | null) {
    super(`${status}: ${messageOf(body)}`)
    this.status = status
    this.body = body
    this.requestId = requestId
  }
}

/** Each door has its own way to say what is wrong: `{detail}`, `{error}` or `{error: {message}}`. */
function messageOf(body: unknown): string {
  if (typeof body === 'string') return body.slice(0, 500)
  if (typeof body !== 'object' || body === null) return 'no explanation'
  const said = 'detail' in body ? body.detail : 'error' in body ? body.error : body
  if (typeof said === 'string') return said
  if (typeof said === 'object' && said !== null && 'message' in said) return String(said.message)
  return JSON.stringify(said)
}
