// Pictures to be shown to an operator: recognised by their first bytes, not by their name.
import type { Image } from './task.ts'

const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

const SIGNATURES: readonly (readonly [type: string, starts: (bytes: Buffer) => boolean])[] = [
  ['image/png', (bytes) => bytes.subarray(0, 8).equals(Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'))],
  ['image/jpeg', (bytes) => bytes.subarray(0, 3).equals(Buffer.from([0xff, 0xd8, 0xff]))],
  ['image/gif', (bytes) => /^GIF8[79]a$/.test(bytes.subarray(0, 6).toString('latin1'))],
  ['image/webp', (bytes) => /^RIFF[^]{4}WEBP$/.test(bytes.subarray(0, 12).toString('latin1'))],
]

/** Null: nothing that a browser would show as a picture and as nothing else. */
export const imageType = (bytes: Buffer): string | null => SIGNATURES.find(([, starts]) => starts(bytes))?.[0] ?? null

/** From base64, with or without the `data:` before it. */
export function imageFrom(text: string): Image | null {
  const base64 = text.replace(/^data:[a-z/+-]{1,40};base64,/i, '').replaceAll(/\s/g, '')
  if (!BASE64.test(base64)) return null
  const type = imageType(Buffer.from(base64, 'base64'))
  return type === null ? null : { type, base64 }
}
