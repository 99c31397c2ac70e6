import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { parseAny } from '../../src/doors/arena/sockets/message.ts'
import { UsualInputReader } from '../../src/doors/arena/sockets/usual-input.ts'
import { cases } from '../support/size.ts'

const ID = '01a1e1c4-f6c7-70b5-9a08-3c39fa5206f3'
const reader = new UsualInputReader()

const textWith = (seq: unknown, sequence: unknown, targetTick: unknown, delta: unknown, id = ID): string =>
  `{"t":"event","seq":${seq},"event":"session.input","p":{"sessionId":"${id}","sequence":${sequence},"targetTick":${targetTick},"delta":${delta}}}`

function read(text: string, key = [7, 0, 200, 90]) {
  const payload = Buffer.from(text).map((byte, index) => byte ^ (key[index % 4] ?? 0))
  return reader.read({ chunk: Buffer.concat([Buffer.from(key), payload]), at: 4, length: payload.length }, ID)
}

const anyNumber = fc.oneof(
  fc.nat(200),
  fc.integer({ min: -5, max: 5 }),
  fc.maxSafeInteger(),
  fc.double(),
  fc.constantFrom('01', '-0', '-', '-01', '1e3', '1.0', '+1', '00', '', ' 1', '1 ', '999999999', '1234567890', '"1"'),
)

test('an input that is read in place means what the JSON parser reads in it, whatever its numbers are', () => {
  fc.assert(
    fc.property(anyNumber, anyNumber, anyNumber, anyNumber, (seq, sequence, targetTick, delta) => {
      const text = textWith(seq, sequence, targetTick, delta)

      const input = read(text)

      if (input === null) return
      const p = { sessionId: ID, sequence: input.sequence, targetTick: input.targetTick, delta: input.delta }
      const message = { seq: input.seq, event: 'session.input', p }
      assert.deepEqual(parseAny(text), { ok: true, message })
    }),
    { numRuns: cases(5000) },
  )
})

test('an input with one byte changed, inserted or left out is not taken for another one', () => {
  const text = textWith(12, 34, 56, -3)
  fc.assert(
    fc.property(fc.nat(text.length), fc.nat(127), fc.nat(2), (at, byte, how) => {
      const rest = text.slice(how === 1 ? at : at + 1)
      const changed = text.slice(0, at) + (how === 2 ? '' : String.fromCharCode(byte)) + rest

      const input = read(changed)

      const parsed = parseAny(changed)
      if (input === null) return
      assert(parsed.ok, changed)
      assert.deepEqual(parsed.message.p, {
        sessionId: ID,
        sequence: input.sequence,
        targetTick: input.targetTick,
        delta: input.delta,
      })
    }),
    { numRuns: cases(5000) },
  )
})

test('the text of the documentation is read in place; other spellings, sessions and lengths are left to the parser', () => {
  assert.deepEqual(read(textWith(1, 2, 3, -3)), { seq: 1, sequence: 2, targetTick: 3, delta: -3 })
  assert.deepEqual(read(textWith(0, 999_999_999, 0, 0), [0, 0, 0, 0]), {
    seq: 0,
    sequence: 999_999_999,
    targetTick: 0,
    delta: 0,
  })

  const usual = textWith(1, 2, 3, 1)
  const others = [
    textWith(1, 2, 3, 1, ID.replace('0', '1')),
    textWith(1, 2, 3, 1, ID.toUpperCase()),
    usual.replace('"seq"', ' "seq"'),
    usual.replace('event"', 'e\\u0076ent"'),
    usual.replace('"delta":1', '"delta":1,"delta":2'),
    usual.slice(0, -1),
    `${usual} `,
    `${usual}${usual}`,
    '',
  ]
  for (const other of others) assert.equal(read(other), null, other)
})
