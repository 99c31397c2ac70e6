// A signature does not say which line of the canonical string differs, but the usual mistakes are few: each is tried, and the
// one with which the signature verifies is named.
import type { SignedParts } from './signed-text.ts'

export interface SigningMistake {
  /** The line that differs, from 1. */
  line: number
  /** Completes "It would if …". */
  sentence: string
  parts: SignedParts
}

export interface SentRequest {
  parts: SignedParts & { body: Uint8Array }
  /** The request's target, with its query. */
  target: string
  /** Prefixes of the configured URLs, which a proxy may strip. */
  prefixes: readonly string[]
}

export function mistakesOf({ parts, target, prefixes }: SentRequest): SigningMistake[] {
  const text = new TextDecoder().decode(parts.body)
  const { path } = parts
  const withPath = (sentence: string, path: string): SigningMistake => ({
    line: 2,
    sentence,
    parts: { ...parts, path },
  })
  const withBody = (sentence: string, body: string): SigningMistake => ({
    line: 5,
    sentence,
    parts: { ...parts, body },
  })
  return [
    withPath('line 2, the path, had its query, which is not signed', target),
    withPath('line 2, the path, ended in a slash', `${path}/`),
    withPath('line 2, the path, did not end in a slash', withoutLastSlashes(path)),
    withPath('line 2, the path, was unescaped', unescaped(path)),
    withPath('line 2 was only /', '/'),
    ...prefixes.map((prefix) =>
      withPath(`line 2, the path, began with ${prefix}, which a proxy strips: sign ${path}`, `${prefix}${path}`),
    ),
    ...['GET', 'POST'].map((method) => ({
      line: 1,
      sentence: `line 1, the method, was ${method}`,
      parts: { ...parts, method },
    })),
    { line: 3, sentence: 'line 3, the timestamp, was in milliseconds', parts: { ...parts, ts: parts.ts * 1000 } },
    withBody('line 5, the body, was empty', ''),
    withBody('line 5, the body, had no line end', text.replace(/\r?\n$/, '')),
    withBody('line 5, the body, ended in a line end', `${text}\n`),
    withBody('line 5, the body, had its lines end in CR LF', text.replaceAll(/\r?\n/g, '\r\n')),
    withBody('line 5, the body, had its lines end in LF', text.replaceAll('\r\n', '\n')),
    withBody('line 5, the body, was serialized again by a JSON library', rewritten(text)),
  ]
}

function withoutLastSlashes(path: string): string {
  let end = path.length
  while (path[end - 1] === '/') end -= 1
  return path.slice(0, end)
}

function unescaped(path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

function rewritten(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text))
  } catch {
    return text
  }
}
