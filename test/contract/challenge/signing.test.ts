// Every expected value was computed with openssl, not with our own signer:
//   H=$(printf '%s' "$BODY" | openssl dgst -sha256 -hex | sed 's/.*= //')
//   printf 'POST\n/solve\n1700000000\nnonce-1\n%s' "$H" | openssl dgst -sha256 -hmac 'top-secret' -hex
//   printf 'msg_1.1700000000.%s' "$BODY" | openssl dgst -sha256 -hmac 'top-secret' -binary | base64
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  authorization,
  bodyHash,
  canonicalString,
  isSignedWith,
  parseAuthorization,
  signature,
  webhookHeaders,
} from '@reeve/sdk/challenge'
import { Webhook } from 'standardwebhooks'

const BODY = '{"api_version":"v2.1"}'
const PARTS = { method: 'POST', path: '/solve', ts: 1_700_000_000, nonce: 'nonce-1', body: BODY }
const SIG = '4d952f83a0ad9af619f3bce73697a9aaed03d9bf18d249866a5da2627aff0f38'
const HEADER = `RCS-HMAC-SHA256 keyId=solver-kid-1,ts=1700000000,nonce=nonce-1,sig=${SIG}`

describe('challenge: the signature', () => {
  test('challenge 1.2: the canonical string is METHOD, PATH, TIMESTAMP, NONCE and SHA256(body) on five lines', () => {
    const hash = '82aa2802a7504fc5a6b939fb17eb5cb349f04a44d059d3a522db3d066287c040'

    assert.equal(bodyHash(BODY), hash)
    assert.equal(canonicalString(PARTS), `POST\n/solve\n1700000000\nnonce-1\n${hash}`)
  })

  test('challenge 1.2: the signature is the one that openssl computes', () => {
    assert.equal(signature('top-secret', PARTS), SIG)
    assert.equal(isSignedWith('top-secret', SIG, PARTS), true)
  })

  test('challenge 1.4: an escaped path, an empty body and a secret outside ASCII sign as openssl does', () => {
    const parts = { method: 'POST', path: '/callback/caf%C3%A9', ts: 1_700_000_001, nonce: 'n2', body: '' }

    assert.equal(signature('schlüssel', parts), '6b5e69e4df3a4f02cc698cbf126744179488a771501e4bba16a57310c5954b85')
  })

  test('challenge 1.2: a change of any part makes the signature wrong', () => {
    const changes = [{ method: 'PUT' }, { path: '/solve/' }, { ts: 1 }, { nonce: 'nonce-2' }, { body: `${BODY} ` }]

    for (const change of changes) assert.equal(isSignedWith('top-secret', SIG, { ...PARTS, ...change }), false)
    assert.equal(isSignedWith('other-secret', SIG, PARTS), false)
    assert.equal(isSignedWith('top-secret', SIG.slice(0, 62), PARTS), false)
  })

  test('challenge 1.1: the header is RCS-HMAC-SHA256 keyId=…,ts=…,nonce=…,sig=… and reads back', () => {
    assert.equal(authorization({ keyId: 'solver-kid-1', secret: 'top-secret' }, PARTS), HEADER)
    assert.deepEqual(parseAuthorization(HEADER), {
      keyId: 'solver-kid-1',
      ts: 1_700_000_000,
      nonce: 'nonce-1',
      sig: SIG,
    })
    assert.deepEqual(parseAuthorization(HEADER.replaceAll(',', ', ')), parseAuthorization(HEADER))
  })

  test('challenge 1.1: a malformed header is refused', () => {
    const malformed = [
      '',
      'Bearer abc',
      'RCS-HMAC-SHA256',
      HEADER.replace('RCS', 'rcs'),
      HEADER.replace(/,sig=.*/, ''),
      HEADER.replace('keyId=solver-kid-1,', ''),
      `${HEADER},sig=${SIG}`,
      `${HEADER},more`,
      HEADER.replace('ts=1700000000', 'ts=-5'),
      HEADER.replace('ts=1700000000', 'ts=1.7e9'),
      HEADER.replace('nonce=nonce-1', 'nonce='),
      HEADER.replace('nonce=nonce-1', `nonce=${'n'.repeat(256)}`),
      HEADER.replace(SIG, SIG.toUpperCase()),
      HEADER.replace(SIG, SIG.slice(1)),
      `${HEADER}${' '.repeat(3000)}`,
    ]

    assert.deepEqual(
      malformed.filter((header) => parseAuthorization(header) !== null),
      [],
    )
  })

  test('challenge 1.10: the Standard Webhooks headers are what openssl computes and what the npm package verifies', () => {
    const headers = webhookHeaders(['top-secret'], { id: 'msg_1', ts: 1_700_000_000, body: BODY })
    const now = Math.floor(Date.now() / 1000)
    const fresh = webhookHeaders(['top-secret'], { id: 'msg_2', ts: now, body: BODY })

    assert.equal(headers['webhook-signature'], 'v1,n+IZyyzBKondXHYFjbBG78R16wOO9v1/vMoCc22J30c=')
    assert.deepEqual(new Webhook(Buffer.from('top-secret').toString('base64')).verify(BODY, fresh), {
      api_version: 'v2.1',
    })
  })
})
