const utf8 = new TextDecoder('utf-8')

/** Bytes of a stranger as text that PostgreSQL can keep: what is not UTF-8 is replaced, and NUL with it. */
export function shownText(bytes: Buffer, bytesMax: number): string {
  const text = utf8.decode(bytes.subarray(0, bytesMax)).replaceAll('\0', '\u{fffd}')
  return bytes.length > bytesMax ? `${text}…` : text
}
