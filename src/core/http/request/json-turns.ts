// JSON of megabytes, parsed in pieces, each in its own turn of the event loop. The text is cut at commas and in long strings. A piece
// is made JSON of its own by opening what was open where it begins and closing what is open where it ends, so that JSON.parse does the
// work:
//
//   {"a":[1,2,3],"b":"long"}   cut after 2 and after lo   →   {"a":[1,2]}   {"…":[3],"b":"lo"}   {"…":"ng"}
//
// What a piece holds is then added to the value of the pieces before it. All pieces are JSON exactly where the whole text is.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { newSecret } from '../../random.ts'
import { isObject } from '../../values/is-object.ts'
import { JsonScan, type OpenContainer, type ShapeMax } from './json-shape.ts'

const PIECE_CHARS = 128 * 1024

/** Stands for the key of the open member in the next piece: the text may name the same key again. Nobody else can know it. */
const OPEN_KEY = newSecret()

export interface TurnsOptions {
  most?: ShapeMax | undefined
  /** Called with the value of each piece whose text needs it. */
  check(piece: unknown): void
  needsCheck(text: string): boolean
  /** What is thrown where the text exceeds a limit. */
  onExcess(message: string): Error
  pieceChars?: number
}

/** What is open where the text is cut. */
interface Cut {
  containers: readonly OpenContainer[]
  isInString: boolean
}

const NOTHING_OPEN: Cut = { containers: [], isInString: false }

/** Throws a SyntaxError as JSON.parse does. */
export async function parseInTurns(text: string, options: TurnsOptions): Promise<unknown> {
  const { most, check, needsCheck, onExcess, pieceChars = PIECE_CHARS } = options
  const scan = new JsonScan(text, most)
  let whole: unknown
  let cut = NOTHING_OPEN
  let start = 0
  for (;;) {
    const excess = scan.run(Math.max(start, scan.index) + pieceChars)
    if (excess !== null) throw onExcess(excess)
    await nextTurn()
    const isLast = scan.index === text.length
    if (!isLast && !scan.canBeCut) continue
    const next = isLast ? NOTHING_OPEN : { containers: scan.open, isInString: scan.isInString }
    const isAtComma = !isLast && !next.isInString
    const own = text.slice(start, isAtComma ? scan.index - 1 : scan.index)
    const piece: unknown = JSON.parse(`${opening(cut)}${own}${closing(next)}`)
    if (needsCheck(own)) check(piece)
    whole = start === 0 ? piece : extended(whole, piece, cut)
    if (isLast) return whole
    start = scan.index
    cut = next
  }
}

const opening = ({ containers, isInString }: Cut): string => {
  const openers = containers.map(({ isObject, key }) =>
    isObject ? `{${key === null ? '' : `${JSON.stringify(OPEN_KEY)}:`}` : '[',
  )
  return `${openers.join('')}${isInString ? '"' : ''}`
}

const closing = ({ containers, isInString }: Cut): string => {
  const closers = containers.map(({ isObject }) => (isObject ? '}' : ']'))
  return `${isInString ? '"' : ''}${closers.toReversed().join('')}`
}

/** `whole` with the members of `piece`; what was open at the cut is continued. */
function extended(whole: unknown, piece: unknown, cut: Cut, level = 0): unknown {
  if (level === cut.containers.length && cut.isInString) return `${String(whole)}${String(piece)}`
  const isMemberOpen = level < cut.containers.length - 1 || cut.isInString
  if (Array.isArray(whole) && Array.isArray(piece)) {
    if (isMemberOpen) whole.push(extended(whole.pop(), piece[0], cut, level + 1))
    for (let index = isMemberOpen ? 1 : 0; index < piece.length; index += 1) whole.push(piece[index])
  } else if (isObject(whole) && isObject(piece)) {
    const key = cut.containers[level]?.key ?? ''
    if (isMemberOpen) define(whole, key, extended(whole[key], piece[OPEN_KEY], cut, level + 1))
    for (const [name, value] of Object.entries(piece)) if (name !== OPEN_KEY) define(whole, name, value)
  }
  return whole
}

/** An assignment to __proto__ would not make a member. */
const define = (object: object, key: string, value: unknown): void =>
  void Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true })
