// Follows the frames of a client by their headers alone, to know whether `ws` has seen the last byte of a message. What it
// cannot follow with certainty (a frame that `ws` refuses, a close, a length of eight bytes) it gives up for good: the
// connection is then read by `ws` only.

const FINAL = 0x80
const RESERVED = 0x70
const MASKED = 0x80
const MASK_BYTES = 4
const LENGTH_IN_2_BYTES = 126
const CONTROL_BYTES_MAX = 125
const OPCODE = { continuation: 0, binary: 2, ping: 9, pong: 10 } as const

export class FrameTracker {
  /** Bytes of the header that have come: 0 to 3. */
  #headBytes = 0
  #first = 0
  #length = 0
  /** Bytes of mask and payload that are still to come. */
  #left = 0
  #isFragmented = false
  #isLost = false

  /** Nothing of a message has come without its end. */
  get isBetweenMessages(): boolean {
    return this.#left === 0 && this.#headBytes === 0 && !this.#isFragmented && !this.#isLost
  }

  /** Bytes have come that this does not know. */
  lose(): void {
    this.#isLost = true
  }

  follow(chunk: Uint8Array): void {
    let at = 0
    while (at < chunk.length && !this.#isLost) {
      if (this.#left > 0) {
        const passed = Math.min(this.#left, chunk.length - at)
        this.#left -= passed
        at += passed
      } else {
        this.#head(chunk[at] ?? 0)
        at += 1
      }
    }
  }

  #head(byte: number): void {
    this.#headBytes += 1
    if (this.#headBytes === 1) {
      this.#first = byte
    } else if (this.#headBytes === 2) {
      this.#length = byte & ~MASKED
      if ((byte & MASKED) === 0 || this.#length > LENGTH_IN_2_BYTES) this.lose()
      else if (this.#length < LENGTH_IN_2_BYTES) this.#begin(this.#length)
    } else if (this.#headBytes === 3) {
      this.#length = byte << 8
    } else {
      this.#begin(this.#length | byte)
    }
  }

  #begin(length: number): void {
    const opcode = this.#first & 0x0f
    const isFinal = (this.#first & FINAL) !== 0
    if ((this.#first & RESERVED) !== 0) return this.lose()
    if (opcode > OPCODE.binary) {
      const isHarmless = (opcode === OPCODE.ping || opcode === OPCODE.pong) && isFinal && length <= CONTROL_BYTES_MAX
      if (!isHarmless) return this.lose()
    } else {
      if ((opcode === OPCODE.continuation) !== this.#isFragmented) return this.lose()
      this.#isFragmented = !isFinal
    }
    this.#headBytes = 0
    this.#left = MASK_BYTES + length
  }
}
