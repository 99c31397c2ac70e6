import { parseJson } from '../../../core/http/request/body.ts'
import { HttpError } from '../../../core/http/errors/http-error.ts'

// What a thread has read is copied to the main one: 50,000 of the one or 250,000 of the other take it 20 ms.
const SHAPE_MAX = { containers: 50_000, values: 250_000 }

/** What a body says, or why it cannot be read. */
export type ParsedBody = { ok: true; value: unknown } | { ok: false; message: string }

export function readBody(bytes: Uint8Array): ParsedBody {
  try {
    return { ok: true, value: parseJson(bytes, SHAPE_MAX) }
  } catch (error) {
    if (error instanceof HttpError) return { ok: false, message: error.message }
    throw error
  }
}
