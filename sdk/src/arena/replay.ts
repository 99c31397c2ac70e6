// The record of a match: its inputs, packed. Replaying them gives the result again; the server writes it and reads it back
// with this file, and so can anyone who holds a match.
//
// An input is three to twelve bytes, in the order in which inputs were accepted:
//
//   varint   ticks since the input before it was accepted
//   byte     player (1 bit) · delta + 3 (3 bits) · targetTick - tick of acceptance (4 bits)
//   varint   sequence - the sequence before it of the same player (which begins at -1)
//
// varint: seven bits a byte, the lowest first, the eighth bit set on all but the last (LEB128).

export const REPLAY_FORMAT = 'reeve-arena-1'

export const DELTA_MAX = 3
/** How far ahead of the current tick an input may aim. */
export const AHEAD_MAX = 10
export const SEQUENCE_MAX = 4_294_967_295

/** 0: the first of the participants; 1: the second. */
export type Side = 0 | 1

export interface RecordedInput {
  /** The session's tick when the input was accepted. */
  tick: number
  side: Side
  sequence: number
  targetTick: number
  delta: number
}

/** Appends inputs as they are accepted. */
export class Recorder {
  #bytes = new Uint8Array(64)
  #length = 0
  #tick = 0
  readonly #sequences: [number, number] = [-1, -1]

  get length(): number {
    return this.#length
  }

  add({ tick, side, sequence, targetTick, delta }: RecordedInput): void {
    if (this.#length + 12 > this.#bytes.length) this.#grow(this.#bytes.length * 2)
    this.#varint(tick - this.#tick)
    this.#byte((side << 7) | ((delta + DELTA_MAX) << 4) | (targetTick - tick))
    this.#varint(sequence - this.#sequences[side])
    this.#tick = tick
    this.#sequences[side] = sequence
  }

  /** A copy of what was recorded from this byte on. */
  slice(from = 0): Uint8Array {
    return this.#bytes.slice(from, this.#length)
  }

  /** Continues the record of another recorder. */
  static resume(packed: Uint8Array): Recorder {
    const recorder = new Recorder()
    recorder.#grow(packed.length + 64)
    recorder.#bytes.set(packed)
    recorder.#length = packed.length
    for (const { tick, side, sequence } of unpackInputs(packed)) {
      recorder.#tick = tick
      recorder.#sequences[side] = sequence
    }
    return recorder
  }

  #grow(size: number): void {
    const larger = new Uint8Array(size)
    larger.set(this.#bytes.subarray(0, this.#length))
    this.#bytes = larger
  }

  #byte(value: number): void {
    this.#bytes[this.#length] = value
    this.#length += 1
  }

  #varint(value: number): void {
    let rest = value
    while (rest > 0x7f) {
      this.#byte((rest % 0x80) | 0x80)
      rest = Math.floor(rest / 0x80)
    }
    this.#byte(rest)
  }
}

/** The inputs of a record, oldest first. Throws if the bytes are not one. */
export function unpackInputs(packed: Uint8Array): RecordedInput[] {
  const inputs: RecordedInput[] = []
  const sequences: [number, number] = [-1, -1]
  let at = 0
  let tick = 0

  const byte = (): number => {
    const value = packed[at]
    if (value === undefined) throw new Error('The record of the match is truncated.')
    at += 1
    return value
  }
  const varint = (): number => {
    let value = 0
    for (let scale = 1; ; scale *= 0x80) {
      const part = byte()
      value += (part & 0x7f) * scale
      if (part < 0x80) return value
      if (scale > SEQUENCE_MAX) throw new Error('The record of the match is invalid.')
    }
  }

  while (at < packed.length) {
    tick += varint()
    const head = byte()
    const side = head >> 7 === 0 ? 0 : 1
    sequences[side] += varint()
    inputs.push({
      tick,
      side,
      sequence: sequences[side],
      targetTick: tick + (head & 0x0f),
      delta: ((head >> 4) & 0x07) - DELTA_MAX,
    })
  }
  return inputs
}

export interface Replayed {
  positions: [number, number]
  lastSequences: [number, number]
  /** Null: a draw. */
  winner: Side | null
}

/** Plays a match again, up to its last tick. Inputs that aim beyond it never count. */
export function replayInputs(inputs: readonly RecordedInput[], ticks: number): Replayed {
  const positions: [number, number] = [0, 0]
  const lastSequences: [number, number] = [0, 0]
  for (const { side, sequence, targetTick, delta } of inputs) {
    lastSequences[side] = sequence
    if (targetTick < ticks) positions[side] += delta
  }
  return { positions, lastSequences, winner: winnerOf(positions) }
}

/** The higher position wins. Null: a draw. */
export function winnerOf([a, b]: readonly [number, number]): Side | null {
  if (a === b) return null
  return a > b ? 0 : 1
}

/** From the text in which a match carries its record. Works where there is no Buffer. */
export function replayBytes(base64: string): Uint8Array {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0))
}
