import { randomBytes } from 'node:crypto'
import { v7 } from 'uuid'
import { systemClock } from './clock.ts'

// A system call for 16 bytes costs more than the rest of an id, so random bytes are read in larger pools.
const RANDOM_POOL_BYTES = 4096
const SEQUENCE_START_MAX = 0x7fff_ffff // of 32 bits: room for those of a millisecond
let pool = randomBytes(RANDOM_POOL_BYTES)
let drawn = 0

function draw16(): Buffer {
  if (drawn + 16 > RANDOM_POOL_BYTES) {
    pool = randomBytes(RANDOM_POOL_BYTES)
    drawn = 0
  }
  drawn += 16
  return pool.subarray(drawn - 16, drawn)
}

const idBytes = Buffer.alloc(16)
let idMs = 0
let idSequence = 0

/**
 * A UUIDv7. Ordered by time, and within a millisecond in the order of the calls: inserts stay at the right edge of every index, and its
 * pages are full (random ids cost a quarter of the throughput).
 */
export function newJobId(): string {
  const now = systemClock.now()
  idSequence = now === idMs ? (idSequence + 1) | 0 : draw16().readInt32LE() & SEQUENCE_START_MAX
  idMs = now
  const hex = v7({ rng: draw16, msecs: now, seq: idSequence }, idBytes).toString('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}

/** Of a trace that begins here: the same without dashes. */
export const newTraceId = (): string => v7({ rng: draw16 }, Buffer.allocUnsafe(16)).toString('hex')

/** Read from the system on every call: for keys and other secrets. */
export const newBytes = (count: number): Buffer => randomBytes(count)

/** A bearer secret: 256 bits, hexadecimal. */
export const newSecret = (): string => randomBytes(32).toString('hex')

/** Short enough to type from a terminal, with no look-alike characters; 20 of 31 symbols are 99 bits. */
export function newPassword(): string {
  const alphabet = 'abcdefghjkmnpqrstuvwxyz23456789'
  let password = ''
  while (password.length < 20) {
    const byte = randomBytes(1).readUInt8()
    if (byte < 8 * alphabet.length) password += alphabet.charAt(byte % alphabet.length)
  }
  return password
}

/** Spreads retries: the wait times a factor from 1 - spread to 1 + spread. */
export const jitter = (ms: number, spread: number, random: () => number = Math.random): number =>
  Math.round(ms * (1 - spread + 2 * spread * random()))

/** At least 0 and less than 1. Cannot be predicted from earlier values. */
export const unitRandom = (): number => draw16().readUInt32LE() / 2 ** 32
