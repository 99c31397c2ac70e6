// Which addresses the other side may give us: https, or plain http to the loopback host where that is allowed for tests.
// What the name resolves to is judged when it is dialled (core/outbound).
import { flag } from '../settings.ts'
import { checkedUrl } from './outbound.ts'

/** ALLOW_INSECURE_CALLBACKS, of every door that calls somebody back. */
export const INSECURE_CALLBACKS = flag({
  or: false,
  about: 'Take http callback URLs of the loopback host: for tests.',
})

/** Not by a regular expression: on many slashes in the middle it would take quadratic time. */
export function withoutTrailingSlashes(url: string): string {
  let end = url.length
  while (url[end - 1] === '/') end -= 1
  return url.slice(0, end)
}

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

export function isCallableUrl(value: unknown, allowInsecure: boolean): value is string {
  if (typeof value !== 'string') return false
  const url = checkedUrl(value)
  if (!(url instanceof URL)) return false
  return url.protocol === 'https:' || (allowInsecure && LOOPBACK.has(url.hostname))
}
