import assert from 'node:assert/strict'

const KEY_CHARS_MAX = 512
const SEGMENT_CHARS_MAX = 255 // the longest name that a file system takes
const SEGMENT = /^[A-Za-z0-9._-]+$/

export function isKey(key: string): boolean {
  return key.length <= KEY_CHARS_MAX && key.split('/').every(isSegment)
}

/** Keys come from our own code: an invalid one is a bug, and must never become a path. */
export function assertKey(key: string): void {
  assert(isKey(key), `Not a file key: ${quoted(key)}`)
}

/** A prefix may end anywhere, so it is valid if one more letter makes it a key. */
export function assertKeyPrefix(prefix: string): void {
  assert(isKey(`${prefix}x`), `Not the beginning of a file key: ${quoted(prefix)}`)
}

function isSegment(segment: string): boolean {
  return SEGMENT.test(segment) && segment.length <= SEGMENT_CHARS_MAX && segment !== '.' && segment !== '..'
}

function quoted(key: string): string {
  return JSON.stringify(key.slice(0, KEY_CHARS_MAX))
}
