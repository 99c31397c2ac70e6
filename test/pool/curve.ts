// Enough of edwards25519 to find its points of small order, written from RFC 8032 and not from the code under test.

export const FIELD = 2n ** 255n - 19n
export const GROUP_ORDER = 2n ** 252n + 27742317777372353535851937790883648493n

const mod = (number: bigint): bigint => ((number % FIELD) + FIELD) % FIELD

function power(base: bigint, exponent: bigint): bigint {
  let [result, square, left] = [1n, mod(base), exponent]
  while (left > 0n) {
    if (left & 1n) result = mod(result * square)
    square = mod(square * square)
    left >>= 1n
  }
  return result
}

const inverse = (number: bigint): bigint => power(number, FIELD - 2n)
const D = mod(-121665n * inverse(121666n))

export interface Point {
  x: bigint
  y: bigint
}

const IDENTITY: Point = { x: 0n, y: 1n }

function add(a: Point, b: Point): Point {
  const product = mod(D * a.x * b.x * a.y * b.y)
  return {
    x: mod((a.x * b.y + b.x * a.y) * inverse(1n + product)),
    y: mod((a.y * b.y + a.x * b.x) * inverse(1n - product)),
  }
}

function times(point: Point, factor: bigint): Point {
  let [result, doubled, left] = [IDENTITY, point, factor]
  while (left > 0n) {
    if (left & 1n) result = add(result, doubled)
    doubled = add(doubled, doubled)
    left >>= 1n
  }
  return result
}

/** The x of a y, or null where there is none. */
function xOf(y: bigint): bigint | null {
  const squared = mod((y * y - 1n) * inverse(D * y * y + 1n))
  let x = power(squared, (FIELD + 3n) / 8n)
  if (mod(x * x - squared) !== 0n) x = mod(x * power(2n, (FIELD - 1n) / 4n))
  return mod(x * x - squared) === 0n ? x : null
}

/** All points whose order divides 8: any point times the group's order is one, and one of order 8 gives all the others. */
export function smallOrderPoints(): Point[] {
  for (let y = 2n; ; y += 1n) {
    const x = xOf(y)
    if (x === null) continue
    const torsion = times({ x, y }, GROUP_ORDER)
    if (times(torsion, 4n).y === 1n) continue // of order 4 or less
    return Array.from({ length: 8 }, (_, factor) => times(torsion, BigInt(factor)))
  }
}

export const fromHex = (hex: string): Buffer => Buffer.from(hex, 'hex')

/** Little-endian, 32 bytes. */
export const toBytes = (number: bigint): Buffer =>
  Buffer.from(fromHex(number.toString(16).padStart(64, '0')).toReversed())

export const numberOf = (bytes: Uint8Array): bigint => BigInt(`0x${Buffer.from(bytes.toReversed()).toString('hex')}`)
