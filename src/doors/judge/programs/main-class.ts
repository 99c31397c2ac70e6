// Java starts a class, not a file: the one that has the main method. Read from the source, because asking the compiled
// classes would take another start of the JVM.
import type { SourceFile } from './compile.ts'

const SOURCE_CHARS_MAX = 1_000_000
const PACKAGE = /^\s*package\s+([\w.]+)\s*;/m
const CLASS = /\b(?:class|enum|interface|record)\s+(\w+)/g
const MAIN = /\bvoid\s+main\s*\(/
const PUBLIC_CLASS = /\bpublic\s+(?:(?:final|abstract|sealed|strictfp)\s+)*(?:class|enum|interface|record)\s+(\w+)/
const DEFAULT = 'Main'

/** The class that declares main; null: none does. */
export function mainClassOf(files: readonly SourceFile[]): string | null {
  for (const { name, bytes } of files.filter((file) => file.name.endsWith('.java'))) {
    const code = withoutComments(bytes.toString('utf8', 0, SOURCE_CHARS_MAX))
    const main = MAIN.exec(code)
    if (main === null) continue
    const owner = [...code.slice(0, main.index).matchAll(CLASS)].at(-1)?.[1] ?? name.replace(/\.java$/, '')
    const packageName = PACKAGE.exec(code)?.[1]
    return packageName === undefined ? owner : `${packageName}.${owner}`
  }
  return null
}

/** A public class must be in a file of its name. */
export const fileNameOfClass = (source: Buffer): string =>
  `${PUBLIC_CLASS.exec(withoutComments(source.toString('utf8', 0, SOURCE_CHARS_MAX)))?.[1] ?? DEFAULT}.java`

/** And without texts, which may hold anything. One pass: a stranger's source must not make it slow. */
function withoutComments(code: string): string {
  let kept = ''
  let at = 0
  while (at < code.length) {
    const end = endOfAside(code, at)
    kept += end === at ? code.charAt(at) : ' '
    at = Math.max(end, at + 1)
  }
  return kept
}

/** Where the comment or the text that begins here is over; `at` itself if none does. */
function endOfAside(code: string, at: number): number {
  const two = code.slice(at, at + 2)
  if (two === '//') return endAfter(code, '\n', at + 2)
  if (two === '/*') return endAfter(code, '*/', at + 2)
  const quote = code.charAt(at)
  if (quote !== '"' && quote !== "'") return at
  let end = at + 1
  while (end < code.length && code.charAt(end) !== quote && code.charAt(end) !== '\n') {
    end += code.charAt(end) === '\\' ? 2 : 1
  }
  return end + 1
}

function endAfter(code: string, mark: string, from: number): number {
  const found = code.indexOf(mark, from)
  return found === -1 ? code.length : found + mark.length
}
