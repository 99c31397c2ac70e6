// The states of one session as WebSocket frames. From tick to tick only digits change: the frame before is copied and they
// are written into the copy, which leaves a third of the garbage of building the text. When a number has more or fewer
// digits than before, the frame is built anew.
//
// A frame that was sent is not changed: a connection that does not keep up may still be reading from it.
import type { Match } from '../match.ts'
import { stateParts } from '../wire.ts'
import { asciiFrame } from './frame.ts'
import type { Game } from './game.ts'

const ZERO = 0x30
const MINUS = 0x2d

/** A number in the frame: where its first character is, and how many it has. */
interface NumberField {
  value: number
  at: number
  width: number
}

export class StateFrames {
  readonly #parts: readonly string[]
  readonly #fields: readonly NumberField[] = Array.from({ length: 5 }, () => ({ value: 0, at: 0, width: 0 }))
  #stampAt = 0
  #last: Buffer | null = null

  constructor(match: Match) {
    this.#parts = stateParts(match)
  }

  /** `issuedAt` is always of the same length. */
  next(game: Game, issuedAt: string): Buffer {
    const { positions } = game
    const last = this.#last
    if (last !== null) {
      const frame = Buffer.allocUnsafe(last.length)
      frame.set(last)
      const fits =
        this.#patch(frame, 0, game.tick) &&
        this.#patch(frame, 1, positions[0]) &&
        this.#patch(frame, 2, game.lastSequence(0)) &&
        this.#patch(frame, 3, positions[1]) &&
        this.#patch(frame, 4, game.lastSequence(1))
      if (fits) {
        for (let index = 0; index < issuedAt.length; index += 1)
          frame[this.#stampAt + index] = issuedAt.charCodeAt(index)
        this.#last = frame
        return frame
      }
    }
    const values = [game.tick, positions[0], game.lastSequence(0), positions[1], game.lastSequence(1)]
    this.#last = this.#build(values, issuedAt)
    return this.#last
  }

  #patch(frame: Buffer, index: number, value: number): boolean {
    const field = this.#fields[index]
    if (field === undefined) return false
    if (field.value === value) return true
    field.value = value
    return writeNumber(frame, field)
  }

  #build(values: readonly number[], issuedAt: string): Buffer {
    let text = ''
    this.#fields.forEach((field, index) => {
      text += this.#parts[index]
      field.value = values[index] ?? 0
      field.at = text.length
      text += field.value
      field.width = text.length - field.at
    })
    text += this.#parts[this.#fields.length]
    const stampAt = text.length
    text += `${issuedAt}"}}`
    const frame = asciiFrame(text)
    const head = frame.length - text.length
    for (const field of this.#fields) field.at += head
    this.#stampAt = stampAt + head
    return frame
  }
}

/** False: it takes more or fewer characters. */
function writeNumber(frame: Buffer, { value, at, width }: NumberField): boolean {
  const first = value < 0 ? at + 1 : at
  let rest = Math.abs(value)
  for (let index = at + width - 1; index >= first; index -= 1) {
    const tenth = Math.floor(rest / 10)
    frame[index] = ZERO + rest - tenth * 10
    rest = tenth
  }
  if (value < 0) frame[at] = MINUS
  return rest === 0 && (frame[first] !== ZERO || first === at + width - 1)
}
