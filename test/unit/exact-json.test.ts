// The SDK's numbers that JavaScript would round. Node 20 tells how a number was written only with this flag.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { ExactNumber, parseExact } from '@reeve/sdk'

if (process.versions.node.startsWith('20.')) setFlagsFromString('--harmony-json-parse-with-source')

test('a number that JavaScript would round keeps its text: too long, too large, or too close to zero', () => {
  const rounded = ['9007199254740993', '0.1234567890123456789', '1e400', '-1e-400', '1.23456789e-320', '0.001e-310']

  for (const text of rounded) {
    const exact = parseExact(text)
    assert(exact instanceof ExactNumber, text)
    assert.equal(exact.text, text)
  }
})

test('a number that JavaScript holds stays a number, zero with an exponent too', () => {
  const held = ['0', '-0', '0.000', '0e-400', '-0.00E5', '1e-300', '2.5e-307', '5e-324', '9007199254740991', '1.50']

  for (const text of held) assert.equal(parseExact(text), Number(text), text)
})
