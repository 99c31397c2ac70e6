import { createHash } from 'node:crypto'
import { Readable, Transform, pipeline, type TransformCallback } from 'node:stream'
import { FILE_BYTES_MAX, TooLarge, type StoredFile } from './file-store.ts'

/** Counts and hashes what passes, and fails at the first byte over the limit. */
class Meter extends Transform {
  readonly #bytesMax: number
  readonly #hash = createHash('sha256')
  #bytes = 0

  constructor(bytesMax: number) {
    super()
    this.#bytesMax = bytesMax
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    this.#bytes += chunk.length
    if (this.#bytes > this.#bytesMax) return done(new TooLarge(this.#bytesMax))
    this.#hash.update(chunk)
    done(null, chunk)
  }

  /** Once, after the last byte. */
  total(): StoredFile {
    return { bytes: this.#bytes, sha256: this.#hash.digest('hex') }
  }
}

/** The content behind a meter. Whoever reads the meter meets the content's errors; destroying it destroys the content. */
export function metered(content: Readable | Buffer, bytesMax: number = FILE_BYTES_MAX): Meter {
  const meter = new Meter(bytesMax)
  const source = Buffer.isBuffer(content) ? Readable.from([content], { objectMode: false }) : content
  // Attached at once: an error before the first read would otherwise be unhandled and end the process.
  pipeline(source, meter, () => {})
  return meter
}
