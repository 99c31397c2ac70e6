// The comparator's flags, in the words of the package format.
import { PackageError } from '../package/package.ts'

export interface CompareFlags {
  caseSensitive: boolean
  spaceSensitive: boolean
  /** Null: numbers are compared as text. */
  floats: { absolute: number; relative: number } | null
}

const NUMBER = /^(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?$/i

export function parseFlags(words: readonly string[]): CompareFlags {
  let caseSensitive = false
  let spaceSensitive = false
  let absolute = -1
  let relative = -1
  const rest = [...words]
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    switch (word) {
      case 'case_sensitive':
        caseSensitive = true
        break
      case 'space_change_sensitive':
        spaceSensitive = true
        break
      case 'float_absolute_tolerance':
        absolute = toleranceFrom(word, rest.shift())
        break
      case 'float_relative_tolerance':
        relative = toleranceFrom(word, rest.shift())
        break
      case 'float_tolerance':
        relative = toleranceFrom(word, rest.shift())
        absolute = relative
        break
      default:
        throw new PackageError(`The validator flag ${word.slice(0, 60)} is not known.`)
    }
  }
  const isNumeric = absolute >= 0 || relative >= 0
  return { caseSensitive, spaceSensitive, floats: isNumeric ? { absolute, relative } : null }
}

function toleranceFrom(flag: string, text: string | undefined): number {
  if (text !== undefined && NUMBER.test(text)) return Number(text)
  throw new PackageError(`The validator flag ${flag} needs a number.`)
}
