// A file as an alternation of space and tokens, in pieces. A piece is never longer than PIECE_BYTES: a token of eight
// megabytes comes in many, cut at the same places in every file, so that two of them can be compared piece by piece.
// Waiting for every token would cost more than comparing it, so that only `fill` is asynchronous.

export interface Piece {
  isSpace: boolean
  bytes: Buffer
  /** As long as a piece can be: the same run may go on in the next one. */
  isFull: boolean
}

/** The next bytes; empty at the end. */
export type ReadBytes = () => Promise<Buffer>

const PIECE_BYTES = 65_536
const NEWLINE = 0x0a
const EMPTY = Buffer.alloc(0)

export class PieceReader {
  readonly #read: ReadBytes
  #buffer: Buffer = EMPTY
  #at = 0
  #end = 0
  #isOver = false
  /** Where the next piece begins. */
  line = 1

  constructor(read: ReadBytes) {
    this.#read = read
  }

  /** Whether `take` has all that it needs. */
  get isReady(): boolean {
    return this.#isOver || this.#end < this.#buffer.length || this.#end - this.#at >= PIECE_BYTES
  }

  async fill(): Promise<void> {
    while (!this.isReady) {
      const bytes = await this.#read()
      if (bytes.length === 0) this.#isOver = true
      else this.#append(bytes)
    }
  }

  /** Null at the end. */
  take(): Piece | null {
    if (this.#at === this.#buffer.length) return null
    const isSpace = isSpaceByte(this.#buffer[this.#at])
    const bytes = this.#buffer.subarray(this.#at, Math.min(this.#end, this.#at + PIECE_BYTES))
    this.#at += bytes.length
    if (isSpace) for (const byte of bytes) if (byte === NEWLINE) this.line += 1
    this.#findEnd()
    return { isSpace, bytes, isFull: bytes.length === PIECE_BYTES }
  }

  #append(bytes: Buffer): void {
    this.#buffer = this.#at === this.#buffer.length ? bytes : Buffer.concat([this.#buffer.subarray(this.#at), bytes])
    this.#at = 0
    this.#findEnd()
  }

  /** Of the run that begins here. */
  #findEnd(): void {
    const isSpace = isSpaceByte(this.#buffer[this.#at])
    let end = this.#at
    while (end < this.#buffer.length && isSpaceByte(this.#buffer[end]) === isSpace) end += 1
    this.#end = end
  }
}

/** As isspace() in C: space, tab, newline, vertical tab, form feed, carriage return. */
const isSpaceByte = (byte: number | undefined): boolean =>
  byte === 0x20 || (byte !== undefined && byte >= 0x09 && byte <= 0x0d)
