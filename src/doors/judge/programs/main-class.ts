// Java starts a class, not a file: the one that declares the main method. It is read from the source, because asking the
// compiled classes would take another start of the JVM. One pass over the text without regular expressions: a stranger's
// source must not make it slow.
import type { SourceFile } from './compile.ts'

const SOURCE_BYTES_MAX = 1024 * 1024
const TYPE_KEYWORDS = new Set(['class', 'enum', 'interface', 'record'])
const DEFAULT = 'Main'

/** The class that declares main, preferably the entry file's own; null: none does. */
export function mainClassOf(files: readonly SourceFile[], entry: string): string | null {
  const found = files
    .filter((file) => file.name.endsWith('.java'))
    .flatMap((file) => typesIn(file.bytes).map((type) => ({ ...type, file: file.name })))
    .filter((type) => type.hasMain)
  const own = found.filter((type) => type.file === entry)
  const best =
    own.find((type) => type.isPublic) ?? found.find((type) => type.name === DEFAULT) ?? own[0] ?? found[0] ?? null
  return best === null ? null : best.fullName
}

/** A public class must be in a file of its name. Null: there is none. */
export const publicClassOf = (source: Buffer): string | null =>
  typesIn(source).find((type) => type.isPublic && !type.isNested)?.name ?? null

/** What to call the file of a source without a name. */
export const fileNameOfClass = (source: Buffer): string => `${publicClassOf(source) ?? DEFAULT}.java`

interface JavaType {
  name: string
  /** As the launcher takes it: `package.Outer$Inner`. */
  fullName: string
  isPublic: boolean
  isNested: boolean
  hasMain: boolean
}

/** All types of a source, in the order of their declarations. */
function typesIn(source: Buffer): JavaType[] {
  const tokens = tokensOf(source.toString('utf8', 0, SOURCE_BYTES_MAX))
  const types: JavaType[] = []
  const open: { type: JavaType; depth: number }[] = []
  let packageName: string | null = null
  let depth = 0
  let isPublic = false
  let declared: JavaType | null = null

  for (const [index, token] of tokens.entries()) {
    const next = tokens[index + 1] ?? ''
    const outer = open.at(-1)
    if (token === '{') {
      depth += 1
      if (declared !== null) open.push({ type: declared, depth })
      declared = null
    } else if (token === '}') {
      if (outer?.depth === depth) open.pop()
      depth -= 1
    } else if (token === 'package' && packageName === null) {
      packageName = packageFrom(tokens, index + 1)
    } else if (token === 'main' && next === '(' && tokens[index - 1] === 'void') {
      if (outer?.depth === depth) outer.type.hasMain = true
    } else if (declared === null && isDeclaration(tokens, index)) {
      const prefix = outer === undefined ? (packageName ?? '') : `${outer.type.fullName}$`
      declared = { name: next, fullName: prefix + next, isPublic, isNested: outer !== undefined, hasMain: false }
      types.push(declared)
    }
    if (token === 'public') isPublic = true
    else if (token === ';' || token === '{' || token === '}') isPublic = false
  }
  return types
}

/** `Type.class` and a variable called `record` declare nothing. */
function isDeclaration(tokens: readonly string[], index: number): boolean {
  if (!TYPE_KEYWORDS.has(tokens[index] ?? '') || tokens[index - 1] === '.') return false
  if (!isNameStart(tokens[index + 1] ?? '')) return false
  return tokens[index] !== 'record' || tokens[index + 2] === '(' || tokens[index + 2] === '<'
}

function packageFrom(tokens: readonly string[], from: number): string {
  const end = tokens.indexOf(';', from)
  return end === -1 ? '' : `${tokens.slice(from, end).join('')}.`
}

/** Names and single characters, without space, comments and literals. */
function tokensOf(code: string): string[] {
  const tokens: string[] = []
  let at = 0
  while (at < code.length) {
    const end = endOfIgnored(code, at)
    if (end > at) {
      at = end
      continue
    }
    let stop = at + 1
    if (isNameStart(code.charAt(at))) while (stop < code.length && isNamePart(code.charCodeAt(stop))) stop += 1
    tokens.push(code.slice(at, stop))
    at = stop
  }
  return tokens
}

const isNameStart = (text: string): boolean => isNamePart(text.charCodeAt(0)) && !isDigit(text.charCodeAt(0))
const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39
const isNamePart = (code: number): boolean =>
  isDigit(code) ||
  (code >= 0x41 && code <= 0x5a) ||
  (code >= 0x61 && code <= 0x7a) ||
  code === 0x5f ||
  code === 0x24 ||
  code >= 0x80

/** Where the space, comment or literal that begins here ends; `at` itself if none does. */
function endOfIgnored(code: string, at: number): number {
  if (code.charCodeAt(at) <= 0x20) return at + 1
  if (code.startsWith('//', at)) return endAfter(code, '\n', at + 2)
  if (code.startsWith('/*', at)) return endAfter(code, '*/', at + 2)
  if (code.startsWith('"""', at)) return endOfText(code, '"""', at + 3)
  const quote = code.charAt(at)
  return quote === '"' || quote === "'" ? endOfText(code, quote, at + 1) : at
}

/** A literal on one line ends with the line at the latest. */
function endOfText(code: string, quote: string, from: number): number {
  let end = from
  while (end < code.length && !code.startsWith(quote, end)) {
    if (quote.length === 1 && code.charAt(end) === '\n') return end
    end += code.charAt(end) === '\\' ? 2 : 1
  }
  return end + quote.length
}

function endAfter(code: string, mark: string, from: number): number {
  const found = code.indexOf(mark, from)
  return found === -1 ? code.length : found + mark.length
}
