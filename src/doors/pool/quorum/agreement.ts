// When two outputs agree. By default their hashes are equal. A job may ask for less, because machines differ in the last
// digits: numbers within a tolerance, or vectors with a high cosine similarity.
import { setImmediate as yieldToOthers } from 'node:timers/promises'
import { Type, type Static } from 'typebox'
import { isObject } from '../../../core/values/is-object.ts'

/** A longer output agrees only with an equal one. */
export const COMPARED_BYTES_MAX = 128 * 1024

const FIELD_CHARS_MAX = 256

export const AgreeRule = Type.Union([
  Type.Object({ type: Type.Literal('exact') }, { additionalProperties: false }),
  Type.Object(
    { type: Type.Literal('numeric'), tolerance: Type.Number({ minimum: 0 }) },
    { additionalProperties: false },
  ),
  Type.Object(
    {
      type: Type.Literal('cosine'),
      min: Type.Optional(Type.Number({ minimum: 0, maximum: 1, description: 'Default 0.985.' })),
      field: Type.Optional(
        Type.String({
          minLength: 1,
          maxLength: FIELD_CHARS_MAX,
          description: 'A JSON pointer, or the name of a top-level member. Default `embedding`.',
        }),
      ),
    },
    { additionalProperties: false },
  ),
])
export type AgreeRule = Static<typeof AgreeRule>

const COSINE_MIN_DEFAULT = 0.985
const COSINE_FIELD_DEFAULT = 'embedding'

export interface ComparedVote {
  assignment_id: number
  vote: string | null
}

/** Whether two votes agree. */
export type Agreement<Compared extends ComparedVote> = (a: Compared, b: Compared) => boolean

const equalVotes = (a: ComparedVote, b: ComparedVote): boolean => a.vote !== null && a.vote === b.vote

/** Compares every pair once; the event loop is free between results. */
export async function agreementOf<Compared extends ComparedVote>(
  rule: AgreeRule | null,
  votes: readonly Compared[],
  outputs: ReadonlyMap<number, string>,
): Promise<Agreement<Compared>> {
  if (rule === null || rule.type === 'exact') return equalVotes
  const similar = new Set<string>()
  const parsed: { id: number; value: unknown }[] = []
  for (const { assignment_id: id, vote } of votes) {
    const text = vote === null ? undefined : outputs.get(id)
    if (text === undefined) continue
    await yieldToOthers()
    const value = comparedPart(rule, JSON.parse(text))
    for (const other of parsed) if (areSimilar(rule, value, other.value)) similar.add(pairKey(id, other.id))
    parsed.push({ id, value })
  }
  return (a, b) => equalVotes(a, b) || similar.has(pairKey(a.assignment_id, b.assignment_id))
}

const pairKey = (a: number, b: number): string => `${Math.min(a, b)} ${Math.max(a, b)}`

function comparedPart(rule: AgreeRule, output: unknown): unknown {
  return rule.type === 'cosine' ? at(output, rule.field ?? COSINE_FIELD_DEFAULT) : output
}

/** A JSON pointer (RFC 6901) where it begins with a slash, otherwise a top-level name. */
function at(output: unknown, field: string): unknown {
  const names = field.startsWith('/')
    ? field
        .slice(1)
        .split('/')
        .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
    : [field]
  return names.reduce<unknown>((value, name) => {
    if (Array.isArray(value)) return /^(0|[1-9]\d*)$/.test(name) ? value[Number(name)] : undefined
    return isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  }, output)
}

function areSimilar(rule: AgreeRule, a: unknown, b: unknown): boolean {
  if (rule.type === 'numeric') return areClose(a, b, rule.tolerance)
  return rule.type === 'cosine' && isVector(a) && isVector(b) && cosine(a, b) >= (rule.min ?? COSINE_MIN_DEFAULT)
}

/** Numbers differ by at most `tolerance`; everything else is equal. */
function areClose(a: unknown, b: unknown, tolerance: number): boolean {
  if (typeof a === 'number' && typeof b === 'number') return Math.abs(a - b) <= tolerance
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => areClose(item, b[index], tolerance))
  }
  if (!isObject(a) || !isObject(b)) return a === b
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && areClose(a[name], b[name], tolerance))
  )
}

const isVector = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every((item) => typeof item === 'number')

/** NaN, which is not similar, for vectors of different lengths or without direction. */
function cosine(a: readonly number[], b: readonly number[]): number {
  if (a.length !== b.length) return NaN
  let [product, squareA, squareB] = [0, 0, 0]
  for (const [index, x] of a.entries()) {
    const y = b[index] ?? 0
    product += x * y
    squareA += x * x
    squareB += y * y
  }
  return product / Math.sqrt(squareA * squareB)
}
