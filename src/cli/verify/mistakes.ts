// A signature does not say which line of the canonical string differs, but the usual mistakes are few: each is tried, and the
// one with which the signature verifies is named.
import type { SignedParts } from '@reeve/sdk/challenge'
import { withoutTrailingSlashes } from '../../core/outbound/callback-url.ts'

export interface Mistake {
  /** Completes "It would if …". */
  sentence: string
  parts: SignedParts
}

export interface Sent {
  parts: SignedParts & { body: Buffer }
  /** The request's target, with its query. */
  target: string
  /** Prefixes of the configured URLs, which a proxy may strip. */
  prefixes: readonly string[]
}

export function mistakesOf({ parts, target, prefixes }: Sent): Mistake[] {
  const text = parts.body.toString()
  const { path } = parts
  const withPath = (sentence: string, path: string): Mistake => ({ sentence, parts: { ...parts, path } })
  const withBody = (sentence: string, body: string): Mistake => ({ sentence, parts: { ...parts, body } })
  return [
    withPath('line 2, the path, had its query, which is not signed', target),
    withPath('line 2, the path, ended in a slash', `${path}/`),
    withPath('line 2, the path, did not end in a slash', withoutTrailingSlashes(path)),
    withPath('line 2, the path, was unescaped', unescaped(path)),
    withPath('line 2 was only /', '/'),
    ...prefixes.map((prefix) =>
      withPath(`line 2, the path, began with ${prefix}, which a proxy strips: sign ${path}`, `${prefix}${path}`),
    ),
    { sentence: 'line 1, the method, was GET', parts: { ...parts, method: 'GET' } },
    { sentence: 'line 1, the method, was POST', parts: { ...parts, method: 'POST' } },
    { sentence: 'line 3, the timestamp, was in milliseconds', parts: { ...parts, ts: parts.ts * 1000 } },
    withBody('line 5, the body, was empty', ''),
    withBody('line 5, the body, had no line end', text.replace(/\r?\n$/, '')),
    withBody('line 5, the body, ended in a line end', `${text}\n`),
    withBody('line 5, the body, was written anew by a JSON library', rewritten(text)),
  ]
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
