// The comparator: whether an output says the same as the answer. Tokens are compared in turn, the space between them only
// if the package asks for it; numbers may differ by a tolerance. It reads both files once, side by side, in bounded memory.
import { open, type FileHandle } from 'node:fs/promises'
import type { CompareFlags } from './flags.ts'
import { PieceReader, type Piece } from './pieces.ts'

export type Comparison = { same: true } | { same: false; message: string }

const READ_BYTES = 32_768 // compared without a pause: a few milliseconds
const SHOWN_BYTES_MAX = 60
const NUMBER_BYTES_MAX = 400
const NUMBER = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i

const same: Comparison = { same: true }

export async function compareFiles(answer: string, output: string, flags: CompareFlags): Promise<Comparison> {
  const files: FileHandle[] = []
  try {
    for (const path of [answer, output]) files.push(await open(path))
    const [expected, got] = files
    if (expected === undefined || got === undefined) throw new Error('Two files were opened.')
    return await compare(new PieceReader(reading(expected)), new PieceReader(reading(got)), flags)
  } finally {
    for (const file of files) await file.close()
  }
}

const reading = (file: FileHandle) => async () => {
  const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(READ_BYTES), 0, READ_BYTES)
  return buffer.subarray(0, bytesRead)
}

/** For what is in memory already. */
export function compareBytes(answer: Buffer, output: Buffer, flags: CompareFlags): Promise<Comparison> {
  if (answer.equals(output)) return Promise.resolve(same)
  return compare(new PieceReader(once(answer)), new PieceReader(once(output)), flags)
}

function once(bytes: Buffer): () => Promise<Buffer> {
  let rest = bytes
  return async () => {
    const next = rest
    rest = Buffer.alloc(0)
    return next
  }
}

async function compare(expected: PieceReader, got: PieceReader, flags: CompareFlags): Promise<Comparison> {
  const differs = (message: string): Comparison => ({ same: false, message: `Line ${got.line}: ${message}` })
  let wasFull = false
  for (;;) {
    if (!expected.isReady) await expected.fill()
    if (!got.isReady) await got.fill()
    let left = expected.take()
    let right = got.take()
    // A word that filled a piece goes on in both files, or in neither.
    if (wasFull && isWord(left) !== isWord(right)) return differs('a word is longer or shorter than expected.')
    if (!flags.spaceSensitive) {
      while (left?.isSpace === true) left = await following(expected)
      while (right?.isSpace === true) right = await following(got)
    }
    if (left === null && right === null) return same
    if (left === null) return differs(`there is more than expected: ${shown(right)}.`)
    if (right === null) return differs(`it ends too soon, expected ${shown(left)}.`)
    if (left.isSpace !== right.isSpace || !isSame(left, right, flags))
      return differs(`expected ${shown(left)}, got ${shown(right)}.`)
    wasFull = left.isFull
  }
}

const isWord = (piece: Piece | null): boolean => piece !== null && !piece.isSpace

async function following(reader: PieceReader): Promise<Piece | null> {
  if (!reader.isReady) await reader.fill()
  return reader.take()
}

function isSame(left: Piece, right: Piece, { caseSensitive, floats }: CompareFlags): boolean {
  if (left.bytes.equals(right.bytes)) return true
  if (left.isSpace) return false
  const value = floats === null ? null : numberFrom(left)
  if (floats !== null && value !== null) {
    const other = numberFrom(right)
    if (other === null) return false
    const difference = Math.abs(value - other)
    return difference <= floats.absolute || difference <= floats.relative * Math.abs(value)
  }
  return !caseSensitive && isSameLetters(left.bytes, right.bytes)
}

/** Finite, and written as C would read it. */
function numberFrom({ bytes }: Piece): number | null {
  if (bytes.length > NUMBER_BYTES_MAX) return null
  const text = bytes.toString('latin1')
  if (!NUMBER.test(text)) return null
  const value = Number(text)
  return Number.isFinite(value) ? value : null
}

/** But for the case of ASCII letters. */
function isSameLetters(left: Buffer, right: Buffer): boolean {
  if (left.length !== right.length) return false
  for (let index = 0; index < left.length; index += 1) {
    if (lowered(left[index] ?? 0) !== lowered(right[index] ?? 0)) return false
  }
  return true
}

const lowered = (byte: number): number => (byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte)

function shown(piece: Piece | null): string {
  if (piece === null) return 'nothing'
  const text = piece.bytes.subarray(0, SHOWN_BYTES_MAX).toString('utf8')
  return JSON.stringify(piece.bytes.length > SHOWN_BYTES_MAX ? `${text}…` : text)
}
