// YAML written by hand: every value is checked, and an error names its place.
import { isObject } from '../../../core/values/is-object.ts'
import { isScalar, parseDocument, visit } from 'yaml'
import { PackageError } from './package.ts'

export type YamlFields = Readonly<Record<string, unknown>>

/** problem.yaml and testdata.yaml. Real ones have a few hundred bytes. */
const YAML_BYTES_MAX = 64 * 1024
const ALIASES_MAX = 100
const WORDS_MAX = 1000

/** The mapping in a file's text; an empty file is an empty mapping. */
export function parseYaml(file: string, text: string): YamlFields {
  if (Buffer.byteLength(text) > YAML_BYTES_MAX)
    throw new PackageError(`${file} is larger than ${YAML_BYTES_MAX} bytes.`)
  const value = parseOrExplain(file, text)
  if (value === null || value === undefined) return {}
  if (!isObject(value)) throw new PackageError(`${file} is not a mapping.`)
  return value
}

function parseOrExplain(file: string, text: string): unknown {
  try {
    // The parser's own check for duplicate keys compares each key with all others.
    const document = parseDocument(text, { uniqueKeys: false, logLevel: 'error' })
    const [error] = document.errors
    if (error !== undefined) throw error
    visit(document, { Map: (_, { items }) => refuseDuplicates(items.map(({ key }) => key)) })
    return document.toJS({ maxAliasCount: ALIASES_MAX })
  } catch (error) {
    const why = error instanceof Error ? (error.message.split('\n')[0] ?? '') : ''
    throw new PackageError(`${file} is not YAML: ${why}`)
  }
}

function refuseDuplicates(keys: readonly unknown[]): void {
  const seen = new Set<unknown>()
  for (const key of keys) {
    const value = isScalar(key) ? key.value : key
    if (seen.has(value)) throw new Error(`Map keys must be unique: ${String(value).slice(0, 60)}`)
    seen.add(value)
  }
}

/** Reads the values of one file. */
export class FieldReader {
  readonly #file: string
  readonly #fields: YamlFields

  constructor(file: string, fields: YamlFields) {
    this.#file = file
    this.#fields = fields
  }

  has(name: string): boolean {
    return this.#fields[name] !== undefined && this.#fields[name] !== null
  }

  inside(name: string): FieldReader {
    const value = this.#fields[name] ?? {}
    if (!isObject(value)) throw this.#wrong(name, 'a mapping')
    return new FieldReader(`${this.#file}: ${name}`, value)
  }

  entries(): [string, unknown][] {
    return Object.entries(this.#fields)
  }

  text(name: string): string | null {
    const value = this.#fields[name] ?? null
    if (value === null || typeof value === 'string') return value
    if (typeof value === 'number' || typeof value === 'boolean') return String(value)
    throw this.#wrong(name, 'a text')
  }

  number(name: string, range: { min: number; max: number }): number | null {
    const value = this.text(name)
    if (value === null) return null
    const number = value.trim() === '' ? NaN : Number(value)
    if (number >= range.min && number <= range.max) return number
    throw this.#wrong(name, `a number from ${range.min} to ${range.max}`)
  }

  /** Words separated by spaces, or a list of words. */
  words(name: string): string[] | null {
    const value = this.#fields[name] ?? null
    if (Array.isArray(value)) {
      const words = value.filter((word) => typeof word === 'string' || typeof word === 'number').map(String)
      if (words.length === value.length && words.length <= WORDS_MAX) return words
      throw this.#wrong(name, 'a list of words')
    }
    const text = this.text(name)
    const words = text?.split(/\s+/).filter((word) => word !== '') ?? null
    if (words !== null && words.length > WORDS_MAX) throw this.#wrong(name, `at most ${WORDS_MAX} words`)
    return words
  }

  oneOf<const T extends string>(name: string, values: readonly T[]): T | null {
    const text = this.text(name)
    if (text === null) return null
    const known = values.find((value) => value === text)
    if (known !== undefined) return known
    throw this.#wrong(name, `one of ${values.join(', ')}`)
  }

  #wrong(name: string, expected: string): PackageError {
    return new PackageError(`${this.#file}: ${name} must be ${expected}.`)
  }
}
