// Makes `pg` decode the long texts of an answer with utf8Text: the event loop waits for it.
import { BufferReader } from 'pg-protocol/dist/buffer-reader.js'
import { utf8Text } from '../values/utf8-text.ts'

const LONG_BYTES = 64 * 1024

const decodeShort = BufferReader.prototype.string

BufferReader.prototype.string = function (length) {
  return length < LONG_BYTES ? decodeShort.call(this, length) : utf8Text(this.bytes(length))
}
