// Reads frames from what the kernel delivered, before Node's stream and `ws` see it, which took most of the time of an input
// (docs/arena.md, "Speed"). Only whole frames of two kinds are offered: final text frames, which may be inputs, and
// pongs. Whatever is not taken goes on unchanged, from its first byte, and is followed, so that nothing is taken between the
// parts of a message that `ws` has begun to read.
//
// `push` is where a stream's implementation hands over what it has read; on the instance it can be preceded. A paused
// connection is not read here: the stream queues, and stops the kernel.
import type { Socket } from 'node:net'
import { FrameTracker } from './frame-tracker.ts'

const FINAL_TEXT = 0x81
const FINAL_PONG = 0x8a
const MASKED = 0x80
const MASK_BYTES = 4
const LENGTH_IN_2_BYTES = 126
const LENGTH_IN_8_BYTES = 127

/** Where a payload lies, behind its mask. */
export interface MaskedPayload {
  chunk: Buffer
  at: number
  length: number
}

/** Takes nothing once `ws` has given the connection up, after a frame that it refuses: what follows is not heard. */
export interface FrameTaker {
  /** False: `ws` is to deliver it, and what follows. */
  takeText(payload: MaskedPayload): boolean
  takePong(payload: MaskedPayload): boolean
}

/** To be called in the same turn in which `ws` got the connection. */
export function readDirectly(tcp: Socket, taker: FrameTaker): void {
  const tracker = new FrameTracker()
  if (tcp.readableLength > 0) tracker.lose() // came with the upgrade
  const push = tcp.push

  tcp.push = (chunk: unknown, encoding) => {
    if (!Buffer.isBuffer(chunk)) return push.call(tcp, chunk, encoding)
    let at = 0
    while (at < chunk.length && tcp.readableFlowing === true && tcp.readableLength === 0 && tracker.isBetweenMessages) {
      const taken = takeFrame(chunk, at, taker)
      if (taken === 0) break
      at += taken
    }
    if (at === chunk.length) return true
    const rest = at === 0 ? chunk : chunk.subarray(at)
    tracker.follow(rest)
    return push.call(tcp, rest, encoding)
  }
}

/** How many bytes were taken: a whole frame, or 0. */
function takeFrame(chunk: Buffer, start: number, taker: FrameTaker): number {
  const first = chunk[start]
  const second = chunk[start + 1] ?? 0
  if ((first !== FINAL_TEXT && first !== FINAL_PONG) || (second & MASKED) === 0) return 0
  let length = second & ~MASKED
  let at = start + 2 + MASK_BYTES
  if (length >= LENGTH_IN_2_BYTES) {
    if (length === LENGTH_IN_8_BYTES || first === FINAL_PONG || start + 4 > chunk.length) return 0
    length = ((chunk[start + 2] ?? 0) << 8) | (chunk[start + 3] ?? 0)
    at += 2
  }
  if (at + length > chunk.length) return 0
  const payload = { chunk, at, length }
  const isTaken = first === FINAL_TEXT ? taker.takeText(payload) : taker.takePong(payload)
  return isTaken ? at + length - start : 0
}

/** Latin-1, which is what any bytes can be read as. */
export function textOf(payload: MaskedPayload): string {
  const bytes = Buffer.allocUnsafe(payload.length)
  unmask(payload, bytes)
  return bytes.toString('latin1')
}

export function unmask({ chunk, at, length }: MaskedPayload, into: Buffer): void {
  for (let index = 0; index < length; index += 1) {
    into[index] = (chunk[at + index] ?? 0) ^ (chunk[at - MASK_BYTES + (index & 3)] ?? 0)
  }
}
