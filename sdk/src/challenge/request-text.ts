// A request as it was on the wire: request line, headers, empty line, body.
const LF = 10
const CR = 13

export interface RequestParts {
  method: string
  /** The path and query as they were sent. */
  target: string
  /** The value of the Authorization header. */
  header: string
  body: Uint8Array
}

/** Line ends as on the wire, or as an editor writes them. The body is what follows the empty line, byte for byte. Null: no request. */
export function parseRequest(bytes: Uint8Array): RequestParts | null {
  const [end, start] = gapIn(bytes)
  const [first = '', ...lines] = new TextDecoder('latin1').decode(bytes.subarray(0, end)).split(/\r?\n/)
  const [, method, target] = /^([A-Za-z]+) (\S+)( HTTP\/[\d.]+)?$/.exec(first) ?? []
  const header = lines.map((line) => /^authorization:\s*(.*)$/i.exec(line)?.[1]).find((value) => value !== undefined)
  if (method === undefined || target === undefined || header === undefined) return null
  return { method, target: withoutOrigin(target), header, body: bytes.subarray(start) }
}

/** Where the head ends, and where the body begins. */
function gapIn(bytes: Uint8Array): [end: number, start: number] {
  for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    const next = bytes[at + 1] === CR ? at + 2 : at + 1
    if (bytes[next] === LF) return [bytes[at - 1] === CR ? at - 1 : at, next + 1]
  }
  return [bytes.length, bytes.length]
}

function withoutOrigin(target: string): string {
  if (!URL.canParse(target)) return target
  const { pathname, search } = new URL(target)
  return `${pathname}${search}`
}
