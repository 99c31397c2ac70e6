// `math`: evaluates an expression, exactly where possible. mathjs parses it; its tree is evaluated here with a fixed list of
// operators and functions, because the size of every value must be bounded before it is computed. Integers and fractions are
// exact; irrational values (sqrt(2), sin(1)) are computed with 64 digits and given with 40.
import { createRequire } from 'node:module'
import { Decimal } from 'decimal.js'
import { Fraction } from 'fraction.js'
import type * as mathjs from 'mathjs'
import type { MathJsInstance, MathNode } from 'mathjs'
import { UnsolvableProblem } from './solution.ts'

/** The single-file build: loading its thousand modules takes ten times as long. Its `create` needs no factories. */
type Bundle = Omit<typeof mathjs, 'create'> & { create(config: { number: 'Fraction' }): Pick<MathJsInstance, 'parse'> }
const bundle: Bundle = createRequire(import.meta.url)('mathjs/lib/browser/math.js')
const { isConstantNode, isFraction, isFunctionNode, isOperatorNode, isParenthesisNode, isSymbolNode } = bundle

const EXPRESSION_CHARS_MAX = 2000
const NODES_MAX = 5000
const DIGITS_MAX = 20_000
const FACTORIAL_MAX = 3000
const ROOT_MAX = 1000

const math = bundle.create({ number: 'Fraction' })
const Approx = Decimal.clone({ precision: 64, toExpNeg: -40, toExpPos: 60 })
const GIVEN_DIGITS = 40

type MathValue = Fraction | Decimal

export interface MathFormat {
  /** `auto`: an integer, a terminating decimal, or a fraction. */
  format: 'auto' | 'fraction' | 'decimal'
  digits: number
}

export function solveMath(expression: string, format: MathFormat): string {
  if (expression.length > EXPRESSION_CHARS_MAX) throw new UnsolvableProblem('INVALID_PROBLEM', 'The expression is too long.')
  return formatted(evaluate(parsed(expression), { nodes: 0 }), format)
}

/** The parser of fractions does not know exponents such as 1.5e3. */
const plainNumbers = (expression: string): string =>
  expression.replace(/(?<![\w.])(\d+(?:\.\d+)?)[eE]([+-]?\d{1,5})(?![\w.])/g, '($1*10^($2))')

function parsed(expression: string): MathNode {
  try {
    return math.parse(plainNumbers(expression))
  } catch (error) {
    const why = error instanceof Error ? error.message : 'syntax error'
    throw new UnsolvableProblem('INVALID_PROBLEM', `The expression cannot be read: ${why}`.slice(0, 300))
  }
}

function evaluate(node: MathNode, count: { nodes: number }): MathValue {
  count.nodes += 1
  if (count.nodes > NODES_MAX) throw new UnsolvableProblem('INVALID_PROBLEM', 'The expression has too many parts.')
  const valueOf = (child: MathNode) => evaluate(child, count)

  if (isParenthesisNode(node)) return valueOf(node.content)
  if (isConstantNode(node)) return constant(node.value)
  if (isSymbolNode(node)) return named(node.name)
  if (isOperatorNode(node)) return bounded(operator(String(node.fn), node.args.map(valueOf)))
  if (isFunctionNode(node)) return bounded(call(node.fn.name, node.args.map(valueOf)))
  throw new UnsolvableProblem('INVALID_PROBLEM', 'The expression holds something that is not arithmetic.')
}

function constant(value: unknown): MathValue {
  if (isFraction(value)) return bounded(new Fraction(value.s * value.n, value.d)) // another copy of the class, with the same members
  throw new UnsolvableProblem('INVALID_PROBLEM', 'The expression holds something that is not a number.')
}

function named(name: string): MathValue {
  if (name === 'pi' || name === 'PI') return Approx.acos(-1)
  if (name === 'e' || name === 'E') return Approx.exp(1)
  throw new UnsolvableProblem('INVALID_PROBLEM', `Unknown name ${name.slice(0, 50)}.`)
}

const isExact = (value: MathValue): value is Fraction => value instanceof Fraction
const isWhole = (value: MathValue): value is Fraction => isExact(value) && value.d === 1n

const approx = (value: MathValue): Decimal =>
  isExact(value) ? new Approx(String(value.s * value.n)).div(String(value.d)) : value

const digitsOf = (value: bigint): number => value.toString(16).length * 1.21

function bounded(value: MathValue): MathValue {
  if (!isExact(value)) {
    if (!value.isFinite()) throw new UnsolvableProblem('NOT_A_NUMBER', 'The value is not a finite number.')
    return value
  }
  if (digitsOf(value.n) > DIGITS_MAX || digitsOf(value.d) > DIGITS_MAX) throw tooLarge()
  return value
}

const tooLarge = () => new UnsolvableProblem('TOO_LARGE', `A number has more than ${DIGITS_MAX} digits.`)

function operator(fn: string, values: readonly MathValue[]): MathValue {
  const [a, b] = values
  if (a === undefined) throw new UnsolvableProblem('INVALID_PROBLEM', 'An operator has no operand.')
  if (b === undefined) {
    if (fn === 'unaryMinus') return isExact(a) ? a.neg() : a.neg()
    if (fn === 'unaryPlus') return a
    if (fn === 'factorial') return factorial(a)
    throw new UnsolvableProblem('INVALID_PROBLEM', `The operator ${fn} is not arithmetic.`)
  }
  const binary = BINARY[fn]
  if (binary === undefined) throw new UnsolvableProblem('INVALID_PROBLEM', `The operator ${fn} is not arithmetic.`)
  return binary(a, b)
}

const both =
  (exact: (a: Fraction, b: Fraction) => Fraction, other: (a: Decimal, b: Decimal) => Decimal) =>
  (a: MathValue, b: MathValue): MathValue =>
    isExact(a) && isExact(b) ? exact(a, b) : other(approx(a), approx(b))

const add = both(
  (a, b) => a.add(b),
  (a, b) => a.add(b),
)
const subtract = both(
  (a, b) => a.sub(b),
  (a, b) => a.sub(b),
)
const multiply = both(
  (a, b) => a.mul(b),
  (a, b) => a.mul(b),
)
const divide = (a: MathValue, b: MathValue): MathValue => {
  if (isExact(b) ? b.n === 0n : b.isZero()) throw new UnsolvableProblem('DIVISION_BY_ZERO', 'Division by zero.')
  return both(
    (x, y) => x.div(y),
    (x, y) => x.div(y),
  )(a, b)
}
const floor = (a: MathValue): MathValue => (isExact(a) ? a.floor() : new Fraction(BigInt(a.floor().toFixed())))
/** The remainder has the sign of the divisor. */
const modulo = (a: MathValue, b: MathValue): MathValue => subtract(a, multiply(b, floor(divide(a, b))))

const BINARY: Readonly<Record<string, (a: MathValue, b: MathValue) => MathValue>> = {
  add,
  subtract,
  multiply,
  divide,
  mod: modulo,
  pow: power,
}

/** Exact for integer exponents and for exact roots. The size of the result is checked before it is computed. */
function power(a: MathValue, b: MathValue): MathValue {
  if (isExact(a) && isWhole(b)) {
    if (a.n === 0n && b.s < 0n) throw new UnsolvableProblem('DIVISION_BY_ZERO', 'Division by zero.')
    const isUnit = a.d === 1n && a.n <= 1n
    const digits = (digitsOf(a.n) + digitsOf(a.d)) * Number(b.n)
    if (!isUnit && digits > 2 * DIGITS_MAX) throw tooLarge()
    return isUnit ? unitPower(a, b) : powerOf(a, b)
  }
  if (isExact(a) && isExact(b) && b.d <= ROOT_MAX && b.n <= ROOT_MAX && digitsOf(a.n) < 1000) {
    const root = a.pow(b)
    if (root !== null) return root
  }
  return approx(a).pow(approx(b))
}

const unitPower = (a: Fraction, b: Fraction): Fraction =>
  b.n === 0n ? new Fraction(1) : a.s < 0n && b.n % 2n === 0n ? a.neg() : a

function powerOf(a: Fraction, b: Fraction): Fraction {
  const positive = new Fraction(a.s < 0n && b.n % 2n === 1n ? -(a.n ** b.n) : a.n ** b.n, a.d ** b.n)
  return b.s < 0n ? positive.inverse() : positive
}

function factorial(value: MathValue): MathValue {
  if (!isWhole(value) || value.s < 0n) throw new UnsolvableProblem('NOT_A_NUMBER', 'Only whole numbers have a factorial.')
  if (value.n > FACTORIAL_MAX) throw tooLarge()
  let product = 1n
  for (let factor = 2n; factor <= value.n; factor += 1n) product *= factor
  return new Fraction(product)
}

const ofDecimal = (compute: (value: Decimal) => Decimal) => (value: MathValue) => compute(approx(value))
const least = (a: MathValue, b: MathValue) => (approx(a).lte(approx(b)) ? a : b)
const most = (a: MathValue, b: MathValue) => (approx(a).gte(approx(b)) ? a : b)
const whole = (a: MathValue, b: MathValue, compute: (a: Fraction, b: Fraction) => Fraction): MathValue => {
  if (!isWhole(a) || !isWhole(b)) throw new UnsolvableProblem('NOT_A_NUMBER', 'Only whole numbers have divisors.')
  return compute(a, b)
}

const UNARY: Readonly<Record<string, (value: MathValue) => MathValue>> = {
  abs: (a) => (isExact(a) ? a.abs() : a.abs()),
  floor,
  ceil: (a) => (isExact(a) ? a.ceil() : new Fraction(BigInt(a.ceil().toFixed()))),
  round: (a) => (isExact(a) ? a.round() : new Fraction(BigInt(a.round().toFixed()))),
  factorial,
  sqrt: (a) => power(a, new Fraction(1, 2)),
  cbrt: (a) => (approx(a).isNegative() ? approx(a).cbrt() : power(a, new Fraction(1, 3))),
  exp: ofDecimal((a) => a.exp()),
  ln: ofDecimal((a) => a.ln()),
  log: ofDecimal((a) => a.ln()),
  log2: ofDecimal((a) => a.log(2)),
  log10: ofDecimal((a) => a.log(10)),
  sin: ofDecimal((a) => a.sin()),
  cos: ofDecimal((a) => a.cos()),
  tan: ofDecimal((a) => a.tan()),
  asin: ofDecimal((a) => a.asin()),
  acos: ofDecimal((a) => a.acos()),
  atan: ofDecimal((a) => a.atan()),
}

const FOLDED: Readonly<Record<string, (a: MathValue, b: MathValue) => MathValue>> = {
  min: least,
  max: most,
  sum: add,
  gcd: (a, b) => whole(a, b, (x, y) => x.gcd(y)),
  lcm: (a, b) => whole(a, b, (x, y) => x.lcm(y)),
}

function call(name: string, values: readonly MathValue[]): MathValue {
  const [first, second, ...more] = values
  const fold = Object.hasOwn(FOLDED, name) ? FOLDED[name] : undefined
  if (fold !== undefined && first !== undefined) return values.slice(1).reduce((a, b) => bounded(fold(a, b)), first)
  const unary = Object.hasOwn(UNARY, name) ? UNARY[name] : undefined
  if (unary !== undefined && first !== undefined && second === undefined) return unary(first)
  const binary = Object.hasOwn(BINARY, name) ? BINARY[name] : undefined
  if (binary !== undefined && first !== undefined && second !== undefined && more.length === 0)
    return binary(first, second)
  throw new UnsolvableProblem('INVALID_PROBLEM', `There is no function ${name.slice(0, 50)} of ${values.length} values.`)
}

function formatted(value: MathValue, { format, digits }: MathFormat): string {
  if (!isExact(value)) return value.toSignificantDigits(format === 'decimal' ? digits : GIVEN_DIGITS).toString()
  const { s, n, d } = value
  if (d === 1n && format !== 'decimal') return String(s * n)
  if (format === 'fraction' || (format === 'auto' && !endsAsDecimal(d))) return `${s * n}/${d}`
  return decimalOf(value, format === 'decimal' ? digits : null)
}

function endsAsDecimal(denominator: bigint): boolean {
  let rest = denominator
  while (rest % 2n === 0n) rest /= 2n
  while (rest % 5n === 0n) rest /= 5n
  return rest === 1n
}

/** Rounded to `places`, halves away from zero; null: all its digits. */
function decimalOf({ s, n, d }: Fraction, places: number | null): string {
  let count = places ?? 0
  if (places === null) while ((n * 10n ** BigInt(count)) % d !== 0n) count += 1
  const scaled = (n * 10n ** BigInt(count) * 2n + d) / (d * 2n)
  const text = String(scaled).padStart(count + 1, '0')
  const sign = s < 0n && scaled !== 0n ? '-' : ''
  return count === 0 ? `${sign}${text}` : `${sign}${text.slice(0, -count)}.${text.slice(-count)}`
}
