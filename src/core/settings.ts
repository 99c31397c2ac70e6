// A setting is an environment variable with a type, a default and a description. The core and each door declare a table of
// them; the tables are read once at start, and one message names every invalid setting.
import assert from 'node:assert/strict'

export interface Setting<T> {
  parse(raw: string): T | InvalidValue
  or: T
  about: string
  secret: boolean
}

export interface InvalidValue {
  expected: string
}

export type Settings = Readonly<Record<string, Setting<unknown>>>
export type Values<S extends Settings> = { readonly [K in keyof S]: S[K] extends Setting<infer T> ? T : never }

type Environment = Readonly<Record<string, string | undefined>>

const isInvalid = (value: unknown): value is InvalidValue =>
  typeof value === 'object' && value !== null && Object.keys(value).join() === 'expected'

export function integer(range: { min: number; max: number; or: number; about: string }): Setting<number> {
  const expected = `an integer from ${range.min} to ${range.max}`
  const parse = (raw: string) => {
    const value = /^-?\d+$/.test(raw) ? Number(raw) : NaN // Number('') is 0
    return value >= range.min && value <= range.max ? value : { expected }
  }
  return { parse, or: range.or, about: range.about, secret: false }
}

export function text(options: { or: string; about: string; secret?: boolean; pattern?: RegExp }): Setting<string> {
  const parse = (raw: string) =>
    options.pattern === undefined || options.pattern.test(raw) ? raw : { expected: `a match of ${options.pattern}` }
  return { parse, or: options.or, about: options.about, secret: options.secret ?? false }
}

export function flag(options: { or: boolean; about: string }): Setting<boolean> {
  const parse = (raw: string) => (raw === 'true' ? true : raw === 'false' ? false : { expected: 'true or false' })
  return { parse, or: options.or, about: options.about, secret: false }
}

export function oneOf<const T extends string>(options: { values: readonly T[]; or: T; about: string }): Setting<T> {
  const parse = (raw: string) =>
    options.values.find((value) => value === raw) ?? { expected: `one of ${options.values.join(', ')}` }
  return { parse, or: options.or, about: options.about, secret: false }
}

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const

/** In any case; `warning` is `warn`. */
export function logLevel(options: { or: (typeof LOG_LEVELS)[number]; about: string }) {
  const levels = oneOf({ ...options, values: LOG_LEVELS })
  return { ...levels, parse: (raw: string) => levels.parse(raw.toLowerCase().replace(/^warning$/, 'warn')) }
}

export function list(options: {
  or: readonly string[]
  about: string
  values?: readonly string[]
}): Setting<readonly string[]> {
  const parse = (raw: string) => {
    const items = raw
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
    const unknown = items.find((item) => options.values !== undefined && !options.values.includes(item))
    return unknown === undefined ? items : { expected: `a comma-separated list of ${options.values?.join(', ')}` }
  }
  return { parse, or: options.or, about: options.about, secret: false }
}

/** Reads one table and collects all problems. */
export function readSettings<S extends Settings>(table: S, env: Environment, problems: string[]): Values<S> {
  const values: Record<string, unknown> = {}
  for (const [name, setting] of Object.entries(table)) {
    const raw = env[name]
    const value = raw === undefined || raw === '' ? setting.or : setting.parse(raw)
    if (isInvalid(value))
      problems.push(`${name}: expected ${value.expected}, got ${setting.secret ? 'something else' : `"${raw}"`}`)
    values[name] = isInvalid(value) ? setting.or : value
  }
  assert(isComplete(table, values))
  return values
}

/** Every value came from its own setting's `parse` or `or`, so that having all names implies the type. */
const isComplete = <S extends Settings>(table: S, values: Record<string, unknown>): values is Values<S> =>
  Object.keys(table).every((name) => name in values)

export interface ShownSetting {
  name: string
  /** Masked where it is a secret. */
  value: unknown
  /** It differs from the default. */
  isSet: boolean
  about: string
}

const MASK = '********'

/** What is in force, for people to read. */
export const shownSettings = (table: Settings, values: Readonly<Record<string, unknown>>): ShownSetting[] =>
  Object.entries(table).map(([name, { secret, or, about }]) => {
    const value = values[name]
    return {
      name,
      value: secret && !isEmpty(value) ? MASK : value,
      isSet: JSON.stringify(value) !== JSON.stringify(or),
      about,
    }
  })

const isEmpty = (value: unknown): boolean => value === '' || (Array.isArray(value) && value.length === 0)

/** A name that starts with REEVE_ or resembles a setting is a mistake: ignoring a limit is worse than refusing to start. */
export function unknownSettings(known: readonly string[], env: Environment): string[] {
  return Object.keys(env)
    .filter((name) => !known.includes(name))
    .flatMap((name) => {
      const nearest = nearestName(name, known)
      if (!name.startsWith('REEVE_') && nearest === null) return []
      return [`${name}: unknown setting${nearest === null ? '' : `, did you mean ${nearest}?`}`]
    })
}

/** At most two edits away, and only for names long enough for that to be meaningful. */
export function nearestName(name: string, known: readonly string[]): string | null {
  if (name.length < 8) return null
  const ranked = known.map((candidate) => ({ candidate, edits: editDistance(name, candidate) }))
  ranked.sort((a, b) => a.edits - b.edits)
  const best = ranked[0]
  return best !== undefined && best.edits <= 2 ? best.candidate : null
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= b.length; column += 1) {
      const substitution = (previous[column - 1] ?? 0) + (a[row - 1] === b[column - 1] ? 0 : 1)
      current.push(Math.min(substitution, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1))
    }
    previous = current
  }
  return previous[b.length] ?? 0
}
