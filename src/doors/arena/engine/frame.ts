// A WebSocket frame, built once and written to every socket that receives it. `ws` would build it for each socket
// (and its Sender.frame makes three buffers per message: measured at twice the time of this). Server frames are not masked
// and nothing here is compressed, so that the header is only a length.

const TEXT_AND_FINAL = 0x81
const PING_AND_FINAL = 0x89
const LENGTH_IN_2_BYTES = 126
const LENGTH_IN_8_BYTES = 127

/** For ASCII text only, such as a state: its length in bytes is its length in characters. */
export function asciiFrame(text: string): Buffer {
  const head = headBytes(text.length)
  const frame = Buffer.allocUnsafe(head + text.length)
  writeHead(frame, text.length)
  frame.write(text, head, 'latin1')
  return frame
}

export function textFrame(text: string): Buffer {
  const length = Buffer.byteLength(text)
  const head = headBytes(length)
  const frame = Buffer.allocUnsafe(head + length)
  writeHead(frame, length)
  frame.write(text, head, 'utf8')
  return frame
}

/** Of at most 125 ASCII characters. */
export function pingFrame(text: string): Buffer {
  const frame = asciiFrame(text)
  frame[0] = PING_AND_FINAL
  return frame
}

/** The text of a text frame. */
export const asciiTextOf = (frame: Buffer): string => {
  const second = frame[1] ?? 0
  return frame.toString('latin1', second < LENGTH_IN_2_BYTES ? 2 : second === LENGTH_IN_2_BYTES ? 4 : 10)
}

const headBytes = (length: number): number => (length < LENGTH_IN_2_BYTES ? 2 : length < 0x10000 ? 4 : 10)

function writeHead(frame: Buffer, length: number): void {
  frame[0] = TEXT_AND_FINAL
  if (length < LENGTH_IN_2_BYTES) {
    frame[1] = length
  } else if (length < 0x10000) {
    frame[1] = LENGTH_IN_2_BYTES
    frame.writeUInt16BE(length, 2)
  } else {
    frame[1] = LENGTH_IN_8_BYTES
    frame.writeBigUInt64BE(BigInt(length), 2)
  }
}
