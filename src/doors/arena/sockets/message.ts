// A message of a client: `{ t: "event", seq, event, p }`. Whatever it is, it gets an answer or does what it says.
import { AHEAD_MAX, DELTA_MAX, SEQUENCE_MAX } from '@reeve/sdk/arena-replay'
import type { PlayerInput } from '../engine/session.ts'
import type { SocketError } from '../errors.ts'

export interface Message {
  seq: number
  event: string
  p: Readonly<Record<string, unknown>>
}

export type Parsed = { ok: true; message: Message } | { ok: false; seq: number; code: SocketError }

export function parseMessage(text: string): Parsed {
  const value = parse(text)
  if (value === undefined) return { ok: false, seq: 0, code: 'invalid_json' }
  if (!isRecord(value)) return { ok: false, seq: 0, code: 'bad_request' }
  const { t, seq = 0, event, p = null } = value
  if (typeof seq !== 'number' || !Number.isFinite(seq)) return { ok: false, seq: 0, code: 'bad_request' }
  if (t !== 'event' || typeof event !== 'string') return { ok: false, seq, code: 'bad_request' }
  if (p !== null && !isRecord(p)) return { ok: false, seq, code: 'bad_request' }
  return { ok: true, message: { seq, event, p: p ?? {} } }
}

/** Null: not an input at all. Whether its tick can be reached is for the session to say. */
export function inputFrom({ sequence, targetTick, delta }: Message['p']): PlayerInput | null {
  if (!isWithin(sequence, 0, SEQUENCE_MAX)) return null
  if (!isWithin(targetTick, 0, TICK_MAX + AHEAD_MAX)) return null
  if (!isWithin(delta, -DELTA_MAX, DELTA_MAX)) return null
  return { sequence, targetTick, delta }
}

const TICK_MAX = 1_000_000

const isWithin = (value: unknown, min: number, max: number): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Undefined: not JSON. (No JSON text means undefined.) */
function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
