import { parseJson } from '../../../core/http/body.ts'
import { HttpProblem } from '../../../core/http/problem.ts'

/** What a body says, or why it cannot be read. */
export type Read = { ok: true; value: unknown } | { ok: false; message: string }

export function readBody(bytes: Uint8Array): Read {
  try {
    return { ok: true, value: parseJson(bytes) }
  } catch (error) {
    if (error instanceof HttpProblem) return { ok: false, message: error.message }
    throw error
  }
}
