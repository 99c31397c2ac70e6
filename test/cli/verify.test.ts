// `reeve verify`. The signature was computed with openssl (see test/contract/challenge/signing.test.ts).
import assert from 'node:assert/strict'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { signedHeaders } from '../contract/challenge/setup.ts'
import { atEnd } from '../support/cleanup.ts'
import { temporaryFolder } from '../support/servers.ts'
import { reeve } from './reeve-command.ts'

const BODY = '{"api_version":"v2.1"}'
const HEADER =
  'RCS-HMAC-SHA256 keyId=solver-kid-1,ts=1700000000,nonce=nonce-1,sig=4d952f83a0ad9af619f3bce73697a9aaed03d9bf18d249866a5da2627aff0f38'
const CANONICAL = `POST\n/solve\n1700000000\nnonce-1\n82aa2802a7504fc5a6b939fb17eb5cb349f04a44d059d3a522db3d066287c040`
const SECRET = { SOLVER_HMAC_SECRET: 'top-secret' }

async function setup(t: TestContext) {
  const folder = await temporaryFolder()
  atEnd(t, () => rm(folder, { recursive: true, force: true }))
  return async (name: string, text: string) => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }
}

describe('reeve verify', () => {
  test('a request that verifies is shown with its canonical string, from its parts or from one file', async (t) => {
    const file = await setup(t)
    const body = await file('body', BODY)
    const request = await file(
      'request',
      `POST /solve?x=1 HTTP/1.1\r\nHost: a\r\nAuthorization: ${HEADER}\r\n\r\n${BODY}`,
    )
    const at = ['--at', '2023-11-14T22:15:00Z']
    const parts = ['verify', ...at, '--path', '/solve', '--header', `Authorization: ${HEADER}`, '--body']

    const runs = await Promise.all([
      reeve([...parts, body], { env: SECRET }),
      reeve([...parts, '-'], { env: SECRET, stdin: BODY }),
      reeve(['verify', request, ...at], { env: SECRET }),
      reeve(['verify', request, ...at, '--secret-file', await file('secret', 'top-secret\n')]),
    ])
    const extra = { SOLVER_HMAC_EXTRA_KEYS: 'solver-kid-1=top-secret@2024-01-01T00:00:00Z' }
    const rotated = await reeve(['verify', request, ...at], { env: extra })

    const verified = `${CANONICAL}\n\nThe signature verifies.\nThe timestamp is within the window: ts is 100 s before 2023-11-14T22:15:00.000Z.\n`
    for (const { code, stdout, stderr } of runs) assert.deepEqual([code, stdout, stderr], [0, verified, ''])
    assert.equal(rotated.stdout, `${verified}The key is accepted until 2024-01-01T00:00:00.000Z.\n`)
  })

  test('the time window and the key’s dates are checked apart from the signature, now or at a given time', async (t) => {
    const file = await setup(t)
    const request = await file('request', `POST /solve HTTP/1.1\nAuthorization: ${HEADER}\n\n${BODY}`)
    const extra = { SOLVER_HMAC_EXTRA_KEYS: 'solver-kid-1=top-secret@2023-11-14T22:13:30Z' }

    const now = await reeve(['verify', request], { env: SECRET })
    const late = await reeve(['verify', request, '--at', '2023-11-14T22:18:21Z'], { env: SECRET })
    const early = await reeve(['verify', request, '--at', '2023-11-14T22:08:20Z'], { env: SECRET })
    const expired = await reeve(['verify', request, '--at', '2023-11-14T22:14:00Z'], { env: extra })
    const odd = await reeve(['verify', request, '--at', 'noon'], { env: SECRET })

    for (const { stdout } of [now, late, early, expired]) assert.match(stdout, /The signature verifies\./)
    assert.deepEqual([now.code, late.code, early.code, expired.code, odd.code], [1, 1, 0, 1, 2])
    assert.match(now.stderr, /The timestamp is outside the window: ts is \d+ s before/)
    assert.match(late.stderr, /ts is 301 s before .*at most 300 s/)
    assert.match(early.stdout, /ts is 300 s after/)
    assert.match(expired.stderr, /The key is no longer accepted: it expired at 2023-11-14T22:13:30/)
  })

  test('a prefix that a proxy strips is accepted where the suffix is signed, and named where it is not', async (t) => {
    const file = await setup(t)
    const key = { keyId: 'solver-kid-1', secret: 'top-secret' }
    const request = (path: string, signedPath: string) => {
      const { authorization } = signedHeaders('/solve', BODY, { key, signedPath })
      return file(`request${signedPath.length}`, `POST ${path} HTTP/1.1\nAuthorization: ${authorization}\n\n${BODY}`)
    }
    const env = { ...SECRET, SOLVER_URL: 'https://a.example/base' }

    const suffix = await reeve(['verify', await request('/base/solve', '/solve')], { env })
    const whole = await reeve(['verify', await request('/solve', '/base/solve')], { env })

    assert.equal(suffix.code, 0)
    assert.match(whole.stderr, /It would if line 2, the path, began with \/base, which a proxy strips: sign \/solve/)
  })

  test('the line that differs is named', async (t) => {
    const file = await setup(t)
    const request = (path: string, signing: object, body = BODY) => {
      const { authorization } = signedHeaders('/solve', BODY, {
        key: { keyId: 'solver-kid-1', secret: 'top-secret' },
        ...signing,
      })
      return file(`request-${Math.random()}`, `POST ${path} HTTP/1.1\nAuthorization: ${authorization}\n\n${body}`)
    }
    const expected: [file: string, sentence: RegExp][] = [
      [
        await request('/solve/?a=1', { signedPath: '/solve/?a=1' }),
        /line 2, the path, had its query, which is not signed/,
      ],
      [await request('/solve', { signedPath: '/solve/' }), /line 2, the path, ended in a slash/],
      [await request('/solve', { signedPath: '/' }), /line 2 was only \//],
      [await request('/solve', {}, `${BODY}\n`), /line 5, the body, had no line end/],
      [
        await request('/solve', {}, '{ "api_version": "v2.1" }'),
        /line 5, the body, was serialized again by a JSON library/,
      ],
      [await request('/solve', { key: { keyId: 'solver-kid-1', secret: 'other' } }), /none of the usual mistakes/],
    ]

    const runs = await Promise.all(expected.map(([request]) => reeve(['verify', request], { env: SECRET })))

    for (const [index, { code, stderr }] of runs.entries()) {
      assert.equal(code, 1)
      assert.match(stderr, expected[index]?.[1] ?? /^$/)
    }
  })

  test('the canonical string of the other side is compared line by line', async (t) => {
    const file = await setup(t)
    const theirs = await file('theirs', CANONICAL.replace('/solve', '/Solve').replace('82aa', '0000'))
    const args = [
      'verify',
      '--path',
      '/solve',
      '--header',
      HEADER,
      '--body',
      await file('body', BODY),
      '--canonical',
      theirs,
    ]

    const { stdout } = await reeve(args, { env: SECRET })

    assert.match(stdout, /line 2, path: expected "\/solve", got "\/Solve"/)
    assert.match(stdout, /line 5, SHA256\(body\): expected "82aa/)
    assert.doesNotMatch(stdout, /line [134],/)
  })

  test('wrong usage exits with 2, and a secret that is not set is named', async (t) => {
    const file = await setup(t)
    const runs = await Promise.all([
      reeve(['verify']),
      reeve(['verify', '--path', '/solve', '--header', 'Bearer x']),
      reeve(['verify', await file('odd', 'hello')]),
      reeve(['verify', '--path', '/solve', '--header', HEADER]),
    ])

    assert.deepEqual(
      runs.map(({ code }) => code),
      [2, 2, 2, 1],
    )
    assert.match(runs[3]?.stderr ?? '', /No secret is set for the key solver-kid-1/)
    for (const { stderr } of runs) assert.doesNotMatch(stderr, /^\s+at /m)
  })
})
