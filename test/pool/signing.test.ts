// Ed25519 against vectors that others made, and against what a forger would try.
import assert from 'node:assert/strict'
import { createPublicKey, verify } from 'node:crypto'
import { describe, test } from 'node:test'
import {
  decodeBase64url,
  generateKey,
  isSignedBy,
  outputHash,
  parsePrivateKey,
  signedText,
  signSubmission,
  type PrivateKey,
} from '@reeve/sdk/pool'
import { FIELD, fromHex, GROUP_ORDER, numberOf, smallOrderPoints, toBytes } from './curve.ts'

const isSigned = (key: Uint8Array | null, signature: Uint8Array | null, text: string) => {
  assert(key !== null && signature !== null)
  return isSignedBy(key, signature, text)
}

const byOpenSsl = (key: Buffer, signature: Buffer, text: string) => {
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: key.toString('base64url') }
  return verify(null, Buffer.from(text), createPublicKey({ key: jwk, format: 'jwk' }), signature)
}

/** RFC 8032, 7.1: public key, message, signature. */
const RFC_8032 = [
  [
    'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    '',
    'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  ],
  [
    '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    'r',
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  ],
] as const

/** Signed by the Python package cryptography (OpenSSL), over what json.dumps wrote. */
const KEY: PrivateKey = {
  kty: 'OKP',
  crv: 'Ed25519',
  d: 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8',
  x: 'A6EHv_POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg',
}
const VECTORS = [
  {
    signed: { assignment_id: 15, nonce: 'nonce-submit-1', output_hash: 'hash-1' },
    text: '{"assignment_id":15,"nonce":"nonce-submit-1","output_hash":"hash-1"}',
    signature: 'MVe4e4o_GSpMUZeqW-zaY6wE-QJC1ZrVvhSz7R59KvcLyhHShxap6EMLGkIHHX6yQxp1BcvIJ1D0l3GKS8SYDw',
  },
  {
    signed: { assignment_id: 15, nonce: 'nonce-submit-1', output_hash: null },
    text: '{"assignment_id":15,"nonce":"nonce-submit-1","output_hash":null}',
    signature: '6tLFhQM5GVTpprOPV15ud-5W6BCT6Z-oahP_oTD6SBQxVXWvsd4uxuOSK704PI2eF-54jlGCfNM70qN04NJiBQ',
  },
  {
    signed: { assignment_id: 9007199254740991, nonce: 'é"\\\n😀', output_hash: '' },
    text: '{"assignment_id":9007199254740991,"nonce":"é\\"\\\\\\n😀","output_hash":""}',
    signature: 'pp8cUfaRob4IjoMfW79QZAEJIM5DIpFSfVaRveTLOaDvAQymaWTbuF2oY9lhsZb9VCJWfkGocpVsEsAzK6xnDg',
  },
] as const

describe('what a worker signs', () => {
  for (const { signed, text, signature } of VECTORS) {
    test(`${text} has the bytes and the signature of the fixed vector`, () => {
      assert.equal(signedText(signed), text)
      assert.equal(signSubmission(KEY, signed), signature)
      assert(isSigned(decodeBase64url(KEY.x), decodeBase64url(signature), text))
    })
  }

  test('the hash of an output is that of its canonical bytes', () => {
    const text = '{"b": 1.0, "a": [1e16, -0.0, "\\u00e9"], "\\uffff": 1, "\\ud83d\\ude00": 2}'

    assert.equal(outputHash(text), '2dd5988d7821ec9d17f6498b9e46b560921d690af084f0ab417d8278c2b24107')
  })

  test('a key that was generated signs, and reads back from its file', () => {
    const key = parsePrivateKey(JSON.parse(JSON.stringify(generateKey())))
    const signed = { assignment_id: 1, nonce: 'n', output_hash: null }

    assert(isSigned(decodeBase64url(key.x), decodeBase64url(signSubmission(key, signed)), signedText(signed)))
    for (const wrong of [null, {}, 'x', { ...key, crv: 'X25519' }, { ...key, d: undefined }]) {
      assert.throws(() => parsePrivateKey(wrong), TypeError)
    }
  })
})

describe('verification', () => {
  for (const [key, message, signature] of RFC_8032) {
    test(`takes the vector of RFC 8032 for "${message}"`, () => {
      assert(isSigned(fromHex(key), fromHex(signature), message))
    })
  }

  test('refuses a signature with any one bit flipped, and any other text', () => {
    const [{ text, signature }] = VECTORS
    const bytes = decodeBase64url(signature)
    assert(bytes !== null)

    for (let bit = 0; bit < 512; bit += 1) {
      const flipped = Buffer.from(bytes)
      flipped.writeUInt8(flipped.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3)
      assert(!isSigned(decodeBase64url(KEY.x), flipped, text), `bit ${bit}`)
    }
    for (const other of ['', `${text} `, text.replace('15', '16')]) {
      assert(!isSigned(decodeBase64url(KEY.x), bytes, other))
    }
  })

  test('refuses a second half that is not below the order of the group', () => {
    const [{ text, signature }] = VECTORS
    const bytes = decodeBase64url(signature)
    assert(bytes !== null)
    const half = numberOf(bytes.subarray(32))

    for (let times = 1n; half + times * GROUP_ORDER < 2n ** 256n; times += 1n) {
      const same = Buffer.concat([bytes.subarray(0, 32), toBytes(half + times * GROUP_ORDER)])
      assert(!isSigned(decodeBase64url(KEY.x), same, text), `S + ${times} L`)
    }
  })

  test('refuses every key of small order, in all its encodings, with the signature that verifies for any text', () => {
    const points = smallOrderPoints()
    assert.equal(points.length, 8)
    const encodings = points.flatMap(({ y }) =>
      [y, y + FIELD].filter((number) => number < 2n ** 255n).flatMap((number) => [number, number | (1n << 255n)]),
    )
    const identity = Buffer.concat([toBytes(1n), toBytes(0n)])
    assert(byOpenSsl(toBytes(1n), identity, 'anything'), 'a forgery that node:crypto takes')

    for (const encoding of encodings) {
      const key = toBytes(encoding)
      assert(!isSigned(key, identity, 'anything'), key.toString('hex'))
      assert(!isSigned(key, Buffer.concat([key, toBytes(0n)]), 'anything'), key.toString('hex'))
    }
  })

  test('refuses a key in a non-canonical encoding, and one that is not a point on the curve', () => {
    const [{ text, signature }] = VECTORS
    for (const number of [FIELD + 3n, FIELD + 18n, 2n, 7n]) {
      assert(!isSigned(toBytes(number), decodeBase64url(signature), text))
    }
  })

  test('refuses wrong lengths', () => {
    const [{ text, signature }] = VECTORS
    const [key, bytes] = [decodeBase64url(KEY.x), decodeBase64url(signature)]
    assert(key !== null && bytes !== null)

    assert(!isSigned(key.subarray(1), bytes, text))
    assert(!isSigned(Buffer.concat([key, key]), bytes, text))
    assert(!isSigned(key, bytes.subarray(1), text))
    assert(!isSigned(key, Buffer.concat([bytes, bytes]), text))
  })
})

describe('base64url', () => {
  test('is taken with none, one or two =, and with nothing else beside its alphabet', () => {
    assert.equal(String(decodeBase64url('YWE')), 'aa')
    assert.equal(String(decodeBase64url('YWE=')), 'aa')
    assert.equal(String(decodeBase64url('YWE==')), 'aa')
    assert.equal(String(decodeBase64url('')), '')
    for (const text of ['YWE===', 'Y=WE', 'YW E', 'YW\nE', 'YW+/', 'YWé', 'Y', 'YWFhY', 'YWH', '-_-_!']) {
      assert.equal(decodeBase64url(text), null, JSON.stringify(text))
    }
  })
})
