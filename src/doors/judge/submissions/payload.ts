// A judge job's payload: all that it takes to judge it, the tests by the hash of their package.

export interface JudgePayload {
  problem_id: string
  /** The SHA-256 of the package: judged is what the problem was when it was submitted. */
  package: string
  language: string
  code: string
}

/** Null: not one of ours. */
export function payloadFrom(stored: unknown): JudgePayload | null {
  if (typeof stored !== 'object' || stored === null) return null
  const fields: Record<string, unknown> = { ...stored }
  const { problem_id: problemId, package: sha256, language, code } = fields
  if (typeof problemId !== 'string' || typeof sha256 !== 'string') return null
  if (typeof language !== 'string' || typeof code !== 'string') return null
  return { problem_id: problemId, package: sha256, language, code }
}
