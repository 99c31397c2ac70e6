import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as fc from 'fast-check'
import { parseAny, parseMessage } from '../../src/doors/arena/sockets/message.ts'
import { cases } from '../support/size.ts'

const anyNumber = fc.oneof(
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double(),
  fc.constantFrom('01', '-0', '1e3', '1.0', '+1', '00', '', '999999999999999', '9999999999999999'),
)

test('an input is read the same by the short way and by the long one, whatever its numbers are', () => {
  fc.assert(
    fc.property(
      anyNumber,
      anyNumber,
      anyNumber,
      anyNumber,
      fc.boolean(),
      (seq, sequence, targetTick, delta, isSpaced) => {
        const gap = isSpaced ? ' ' : ''
        const text =
          `{"t":"event","seq":${seq},"event":"session.input","p":{"sessionId":"01a1e1c4-f6c7-70b5-9a08-3c39fa5206f3",` +
          `"sequence":${gap}${sequence},"targetTick":${targetTick},"delta":${delta}}}`

        const short = parseMessage(Buffer.from(text))
        const long = parseAny(text)

        if (long.ok || short.ok === long.ok) assert.deepEqual(short, long)
        else assert.fail(`${text} is not JSON, and was taken`)
      },
    ),
    { numRuns: cases(2000) },
  )
})

test('what follows or precedes an input makes it another message', () => {
  const input =
    '{"t":"event","seq":1,"event":"session.input","p":{"sessionId":"01a1e1c4-f6c7-70b5-9a08-3c39fa5206f3","sequence":1,"targetTick":2,"delta":3}}'

  assert.equal(parseMessage(Buffer.from(input)).ok, true)
  for (const text of [`${input}x`, `x${input}`, `${input}${input}`, input.slice(0, -1)])
    assert.equal(parseMessage(Buffer.from(text)).ok, false, text)
})
