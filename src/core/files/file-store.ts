// Where files live that are too big for a row: problem packages, previews, artifacts.
//
// A key is absent or complete. `put` makes it complete in one step, when the last byte is stored: a rename in
// a folder, the completion of an upload in S3. Until then readers see what was there before, and a put that fails leaves
// it so. Two puts of one key do not mix: the later step wins. A reader keeps the content it opened, whatever follows.
//
// Both stores take the same keys and answer alike (files.test.ts runs one suite against each), with one rule that only
// the folder can enforce: a key is a file or the beginning of other keys ("a" or "a/b"), never both.

import type { Readable } from 'node:stream'

/** Room for a problem package of 1 GB; a door asks for less. */
export const FILE_BYTES_MAX = 2 * 1024 ** 3

export interface FileStore {
  /** Streams the content in and reads it to its end or destroys it. Throws `TooLarge` at the first byte over the limit. */
  put(key: string, content: Readable | Buffer, options?: PutOptions): Promise<StoredFile>
  /** The content as a stream that the caller reads or destroys; null: no such key. */
  get(key: string): Promise<Readable | null>
  stat(key: string): Promise<{ bytes: number } | null>
  /** Every key that begins with the prefix, a page at a time. */
  list(prefix: string): AsyncIterable<string>
  /** Deletes the key if it exists. */
  delete(key: string): Promise<void>
  /** For readiness and the doctor: throws one clear sentence when the store cannot be used. */
  check(): Promise<void>
}

export interface PutOptions {
  bytesMax?: number
  /** For those who read the bucket themselves; a folder does not keep it. */
  contentType?: string
}

export interface StoredFile {
  bytes: number
  /** Hexadecimal. */
  sha256: string
}

/** The content is longer than the caller allows. */
export class TooLarge extends Error {
  override readonly name = 'TooLarge'
  readonly bytesMax: number

  constructor(bytesMax: number) {
    super(`The file is larger than ${bytesMax} bytes.`)
    this.bytesMax = bytesMax
  }
}

/** The store itself failed; the message is one sentence for an operator and holds no secret. */
export class FileStoreError extends Error {
  override readonly name = 'FileStoreError'
}
