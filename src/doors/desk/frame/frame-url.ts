// Addresses of pages inside the frame:
//
//   https://shop.org/cart?x=1   ⇄   /internal/solver-frame/{uuid}/https/shop.org/cart?x=1
//
// Host and path stay as they are, so that most relative addresses need no rewriting.

export const FRAME_PATH = '/internal/solver-frame'

/** `inner`: a frame inside the page, whose parent is a page of the frame itself. */
export type Depth = 'page' | 'inner'

export interface FramePlace {
  uuid: string
  depth: Depth
}

const SCHEMES = new Map<string, readonly [protocol: string, depth: Depth]>([
  ['http', ['http:', 'page']],
  ['https', ['https:', 'page']],
  ['http-inner', ['http:', 'inner']],
  ['https-inner', ['https:', 'inner']],
])

export function framed({ uuid, depth }: FramePlace, url: URL): string {
  const scheme = `${url.protocol.replace(':', '')}${depth === 'inner' ? '-inner' : ''}`
  return `${FRAME_PATH}/${uuid}/${scheme}/${url.href.slice(url.protocol.length + 2)}`
}

/** Null: not an address of that form. `rest` is all after the host, as it came. */
export function unframed(scheme: string, host: string, rest: string): { url: URL; depth: Depth } | null {
  const known = SCHEMES.get(scheme)
  if (known === undefined) return null
  const text = `${known[0]}//${host}${rest}`
  if (!URL.canParse(text)) return null
  const url = new URL(text)
  return url.host === host.toLowerCase() ? { url, depth: known[1] } : null
}

/** All after the host of a request's own path, undecoded: decoding would change what the site is asked for. */
export const restOf = (rawUrl: string): string => {
  const path = rawUrl.split('/').slice(6).join('/')
  return `/${path}`
}

/** An http(s) address, resolved against `base`. Null: anything else. */
export function resolve(address: string, base: URL): URL | null {
  const text = address.trim()
  if (text === '' || text.startsWith('#') || !URL.canParse(text, base.href)) return null
  const url = new URL(text, base)
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : null
}
