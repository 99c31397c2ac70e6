// Nearly all messages are inputs, formatted as JSON.stringify formats the example in docs/arena.md. Their bytes are compared
// with that text in place, without making a string. Anything else is null, and is left to the parser, which would understand
// what is read here in the same way.
import type { PlayerInput } from '../engine/session.ts'
import { unmask, type MaskedPayload } from './direct-reader.ts'

/** The longest text that is read here, and more. */
const USUAL_BYTES_MAX = 250
const ID_BYTES = 36
/** More digits are left to the parser: these are small integers to V8. */
const DIGITS_MAX = 9
const MINUS = 0x2d
const ZERO = 0x30

const BEFORE_SEQ = Buffer.from('{"t":"event","seq":')
const BEFORE_ID = Buffer.from(',"event":"session.input","p":{"sessionId":"')
const BEFORE_SEQUENCE = Buffer.from('","sequence":')
const BEFORE_TICK = Buffer.from(',"targetTick":')
const BEFORE_DELTA = Buffer.from(',"delta":')
const END = Buffer.from('}}')

export interface UsualInput extends PlayerInput {
  seq: number
}

/** Reads one message at a time: it is kept and used again. */
export class UsualInputReader {
  readonly #text = Buffer.alloc(USUAL_BYTES_MAX)
  #at = 0
  #isUsual = true

  /** Null: not the usual text, or of another session. */
  read(payload: MaskedPayload, sessionId: string): UsualInput | null {
    if (payload.length > USUAL_BYTES_MAX) return null
    unmask(payload, this.#text)
    if (payload.length < USUAL_BYTES_MAX) this.#text[payload.length] = 0 // no digit: what an earlier message left is not read
    this.#at = 0
    this.#isUsual = true
    this.#skip(BEFORE_SEQ)
    const seq = this.#natural()
    this.#skip(BEFORE_ID)
    this.#skipId(sessionId)
    this.#skip(BEFORE_SEQUENCE)
    const sequence = this.#natural()
    this.#skip(BEFORE_TICK)
    const targetTick = this.#integer()
    this.#skip(BEFORE_DELTA)
    const delta = this.#integer()
    this.#skip(END)
    return this.#isUsual && this.#at === payload.length ? { seq, sequence, targetTick, delta } : null
  }

  #skip(expected: Buffer): void {
    if (!this.#isUsual) return
    for (let index = 0; index < expected.length; index += 1) {
      if (this.#text[this.#at + index] !== expected[index]) {
        this.#isUsual = false
        return
      }
    }
    this.#at += expected.length
  }

  #skipId(id: string): void {
    if (!this.#isUsual || id.length !== ID_BYTES) {
      this.#isUsual = false
      return
    }
    for (let index = 0; index < ID_BYTES; index += 1) {
      if (this.#text[this.#at + index] !== id.charCodeAt(index)) {
        this.#isUsual = false
        return
      }
    }
    this.#at += ID_BYTES
  }

  #integer(): number {
    if (this.#text[this.#at] !== MINUS) return this.#natural()
    this.#at += 1
    return -this.#natural()
  }

  /** As JSON writes it: no leading zero. */
  #natural(): number {
    const first = this.#at
    let value = 0
    let digit = (this.#text[this.#at] ?? 0) - ZERO
    while (digit >= 0 && digit <= 9) {
      value = value * 10 + digit
      this.#at += 1
      digit = (this.#text[this.#at] ?? 0) - ZERO
    }
    const digits = this.#at - first
    if (digits === 0 || digits > DIGITS_MAX || (digits > 1 && this.#text[first] === ZERO)) this.#isUsual = false
    return value
  }
}
