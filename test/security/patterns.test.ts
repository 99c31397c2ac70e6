// Every regular expression of the source against hostile text. Those that strangers' text reaches must be linear; all of
// them are tried, so that a new one cannot be forgotten.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startProcessorTimer } from '../support/processor-time.ts'

const LITERAL =
  /(?:[=(,:?!&|[]|=>|\breturn|\bcase)\s*\/(?![*/])((?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+)\/([dgimsuvy]*)/g

const CHARS = 40_000
const PIECES = [
  'a',
  'A',
  '0',
  ' ',
  '\n',
  '\r\n',
  '\t',
  '-',
  '.',
  ',',
  ';',
  '/',
  '"',
  '\\',
  '(',
  '=',
  '%',
  'a ',
  'a,',
  'a=',
  '0.',
  '\\u',
]
// A quadratic expression takes seconds for a text of this length, a linear one less than a millisecond.
const MS_MAX = 500

const sources = ['src', 'sdk/src'].flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name)),
)

const patterns = sources.flatMap((file) =>
  [...readFileSync(file, 'utf8').matchAll(LITERAL)].flatMap(([, source = '', flags = '']) => {
    const pattern = compile(source, flags)
    return pattern === null ? [] : [{ file, pattern }]
  }),
)

/** Null: it was no regular expression after all, but a division or a path. */
function compile(source: string, flags: string): RegExp | null {
  try {
    return new RegExp(source, flags)
  } catch {
    return null
  }
}

test('every regular expression of the source reads hostile text in linear time', () => {
  assert(patterns.length > 100, `only ${patterns.length} expressions were found`)
  const hostile = PIECES.flatMap((piece) => {
    const text = piece.repeat(CHARS / piece.length)
    return [text, `${text}\u0000`, `x${text}!`]
  })

  const slow = patterns.filter(({ pattern }) =>
    hostile.some((text) => Math.min(msOf(pattern, text), msOf(pattern, text)) > MS_MAX),
  )
  assert.deepEqual(
    slow.map(({ file, pattern }) => `${file}: ${pattern}`),
    [],
  )
})

function msOf(pattern: RegExp, text: string): number {
  const processorMs = startProcessorTimer()
  text.replace(pattern, '') // with the flag g, every match
  return processorMs()
}
