/** The sandbox itself failed: never the program's doing. */
export class SandboxError extends Error {
  override name = 'SandboxError'
}

export type ProtocolReason =
  | 'no_answer'
  | 'truncated'
  | 'invalid_json'
  | 'missing_field'
  | 'schema_version_mismatch'
  | 'job_id_mismatch'
  | 'attempt_id_mismatch'

/** The helper's line was not Judge JSON v1 for the requested run. The result is dropped, never relabelled. */
export class ProtocolError extends SandboxError {
  override name = 'ProtocolError'
  readonly reason: ProtocolReason

  constructor(reason: ProtocolReason, detail: string) {
    super(`The sandbox broke its protocol (${reason}): ${detail}`)
    this.reason = reason
  }
}
