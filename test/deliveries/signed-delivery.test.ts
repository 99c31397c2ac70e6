import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { OutboundAnswer, OutboundFailure, OutboundRequest } from '../../src/core/outbound/outbound.ts'
import type { Delivered } from '../../src/core/outbox/delivery.ts'
import { openLog } from '../../src/core/log/log.ts'
import { openDeliveries } from '../../src/core/deliveries/deliveries.ts'
import { openOutbox } from '../../src/core/outbox/outbox.ts'
import { testDatabase } from '../support/database.ts'

type Answer = OutboundAnswer | OutboundFailure

const http = (status: number, headers: Record<string, string> = {}, body = ''): Answer => ({
  ok: true,
  status,
  headers,
  body: Buffer.from(body),
})

const TOPIC = 'letters'

/** One attempt of one request, with the other side's answer and the process's clock made up. */
async function setup(t: TestContext, options: { hasKey?: boolean; slowRetries?: number } = {}) {
  const { database } = await testDatabase(t)
  const sent: OutboundRequest[] = []
  let answer: Answer = http(200)
  let nowMs = 1_700_000_000_000
  const outbound = {
    request: async (request: OutboundRequest) => {
      sent.push(request)
      return answer
    },
  }
  const key = options.hasKey === false ? null : { keyId: 'chal-kid-1', secret: 's' }
  const clock = { now: () => (nowMs += 1000) }
  const outbox = openOutbox(database, () => {})
  const lines: Record<string, unknown>[] = []
  const log = openLog({ LOG_LEVEL: 'info' }, { write: (line) => void lines.push(JSON.parse(line)) })
  const slowRetries = options.slowRetries ?? 0
  const deliveries = openDeliveries({
    database,
    outbox,
    outbound,
    clock,
    log,
    slowRetries,
    ledger: () => ({ summaries: async () => [] }),
  })
  const [delivery] = deliveries.senders({ topic: TOPIC, keyOf: () => key })
  assert(delivery !== undefined)
  const payload = {
    subject: 'c1',
    account_id: null,
    url: 'https://a.example/callback/c1?q=1',
    request_id: 'r1',
    body: '{}',
    is_trusted: false,
  }
  const attempt = async (next: Answer, attempts = 1): Promise<Delivered | undefined> => {
    answer = next
    const row = { outboxId: 1, jobId: null, topic: TOPIC, payload, attempts }
    const [delivered] = await delivery.deliver([row], new AbortController().signal)
    return delivered
  }
  return { attempt, sent, delivery, deliveries, lines, now: () => nowMs }
}

const waitOf = (delivered: Delivered | undefined) => (delivered?.ok === false ? delivered.retryMs : undefined)

describe('a signed delivery', () => {
  test('gives up after six attempts, and waits 0.5, 1, 2, 4, 8 s, each times 0.85 to 1.15', async (t) => {
    const { attempt, delivery } = await setup(t)

    assert.equal(delivery.attemptsMax, 6)
    for (const [index, seconds] of [0.5, 1, 2, 4, 8].entries()) {
      for (let round = 0; round < 10; round += 1) {
        const waitMs = waitOf(await attempt(http(503), index + 1)) ?? 0
        assert(waitMs >= seconds * 850 && waitMs <= seconds * 1150, `${waitMs} after attempt ${index + 1}`)
      }
    }
  })

  test('is tried again on network errors, 429 and 5xx, and on nothing else', async (t) => {
    const { attempt } = await setup(t)
    const isFinal = async (answer: Answer) => {
      const delivered = await attempt(answer)
      return delivered?.ok === false ? (delivered.final ?? false) : 'delivered'
    }

    for (const status of [200, 201, 204]) assert.equal(await isFinal(http(status)), 'delivered')
    for (const status of [429, 500, 502, 503, 599]) assert.equal(await isFinal(http(status)), false)
    for (const status of [301, 302, 307, 400, 401, 404, 408, 410, 422]) assert.equal(await isFinal(http(status)), true)
    for (const code of ['network_error', 'timed_out', 'unresolvable', 'answer_too_large'] as const)
      assert.equal(await isFinal({ ok: false, code }), false)
    for (const code of ['forbidden_address', 'invalid_url', 'credentials_in_url'] as const)
      assert.equal(await isFinal({ ok: false, code }), true)
  })

  test('obeys Retry-After up to 30 s', async (t) => {
    const { attempt } = await setup(t)

    assert.equal(waitOf(await attempt(http(429, { 'retry-after': '7' }))), 7000)
    assert.equal(waitOf(await attempt(http(503, { 'retry-after': '3600' }))), 30_000)
    assert((waitOf(await attempt(http(503, { 'retry-after': 'soon' }))) ?? 0) < 1000)
  })

  test('obeys Retry-After as a date, by the other side\u2019s clock if the answer has a Date', async (t) => {
    const { attempt, now } = await setup(t)
    const date = (ms: number) => new Date(ms).toUTCString()
    const peer = Date.parse('2031-05-01T00:00:00Z')

    assert.equal(waitOf(await attempt(http(503, { 'retry-after': date(peer + 9000), date: date(peer) }))), 9000)
    const byOurClock = waitOf(await attempt(http(429, { 'retry-after': date(now() + 12_000) }))) ?? 0
    assert(byOurClock > 5000 && byOurClock <= 12_000, String(byOurClock))
    assert.equal(waitOf(await attempt(http(503, { 'retry-after': date(peer - 60_000), date: date(peer) }))), 0)
    assert.equal(waitOf(await attempt(http(503, { 'retry-after': date(peer + 3_600_000), date: date(peer) }))), 30_000)
  })

  test('names the cause of a failed connection and the code in the answer of a receiver', async (t) => {
    const { attempt, deliveries } = await setup(t)
    const errorOf = async (answer: Answer) => {
      const delivered = await attempt(answer)
      return delivered?.ok === false ? delivered.error : 'delivered'
    }

    const errors = [
      await errorOf({ ok: false, code: 'network_error', cause: 'ECONNREFUSED' }),
      await errorOf({ ok: false, code: 'tls_error', cause: 'CERT_HAS_EXPIRED' }),
      await errorOf(http(401, {}, '{"error":{"code":"INVALID_SIGNATURE"}}')),
      await errorOf(http(400, {}, '{"code":"bad","error":"Bad."}')),
      await errorOf(http(500, {}, '<html>')),
    ]

    assert.deepEqual(errors, [
      'network_error (ECONNREFUSED)',
      'tls_error (CERT_HAS_EXPIRED)',
      'HTTP 401 (INVALID_SIGNATURE)',
      'HTTP 400 (bad)',
      'HTTP 500',
    ])
    const logged = await deliveries.attempts(TOPIC, 'c1', 10)
    assert.deepEqual(
      logged.map(({ error, cause, peer_code: code }) => [error, cause, code]),
      [
        [null, null, null],
        [null, null, 'bad'],
        [null, null, 'INVALID_SIGNATURE'],
        ['tls_error', 'CERT_HAS_EXPIRED', null],
        ['network_error', 'ECONNREFUSED', null],
      ],
    )
  })

  test('that is refused or given up is logged in one line with its details, without the query of its URL', async (t) => {
    const { attempt, lines } = await setup(t)

    await attempt(http(503), 5)
    await attempt(http(503), 6)
    await attempt(http(401, {}, '{"error":{"code":"INVALID_SIGNATURE"}}'), 1)

    const shown = lines.map(
      ({ msg, job_id, delivery_id, topic, subject, request_id, url, attempts, error, peer_code }) => {
        return { msg, job_id, delivery_id, topic, subject, request_id, url, attempts, error, peer_code }
      },
    )
    const same = {
      msg: 'delivery given up: dead letter',
      job_id: null,
      delivery_id: 1,
      topic: TOPIC,
      subject: 'c1',
      request_id: 'r1',
      url: 'https://a.example/callback/c1',
    }
    assert.deepEqual(shown, [
      { ...same, msg: 'delivery refused', attempts: 5, error: 'HTTP 503', peer_code: null },
      { ...same, attempts: 6, error: 'HTTP 503', peer_code: null },
      { ...same, attempts: 1, error: 'HTTP 401 (INVALID_SIGNATURE)', peer_code: 'INVALID_SIGNATURE' },
    ])
  })

  test('with CALLBACK_SLOW_RETRIES goes on after the sixth attempt, five minutes to a day apart', async (t) => {
    const { attempt, delivery, lines } = await setup(t, { slowRetries: 12 })

    assert.equal(delivery.attemptsMax, 18)
    const minutes = []
    for (let n = 6; n < 18; n += 1) minutes.push((waitOf(await attempt(http(503), n)) ?? 0) / 60_000)
    for (const [index, waited] of minutes.entries()) {
      const wanted = Math.min(1440, 5 * 2 ** index)
      assert(waited >= wanted * 0.85 && waited <= Math.min(1440, wanted * 1.15), `${waited} minutes, not ${wanted}`)
    }
    assert(lines.every(({ msg }) => msg === 'delivery refused'))
    await attempt(http(503), 18)
    assert.deepEqual(
      lines.filter(({ msg }) => msg !== 'delivery refused').map(({ msg }) => msg),
      ['delivery given up: dead letter'],
    )
  })

  test('keeps its body and X-Request-ID, and has ten seconds, a new nonce and a new ts for each attempt', async (t) => {
    const { attempt, sent, deliveries } = await setup(t)

    await attempt(http(500), 1)
    await attempt(http(200), 2)

    const [first, second] = sent
    assert.equal(first?.body, second?.body)
    assert.equal(first?.headers['x-request-id'], 'r1')
    assert.equal(second?.headers['x-request-id'], 'r1')
    assert.equal(first?.timeoutMs, 10_000)
    const fields = (header = '') => /ts=(\d+),nonce=([^,]+)/.exec(header)?.slice(1) ?? []
    const [ts1, nonce1] = fields(first?.headers['authorization'])
    const [ts2, nonce2] = fields(second?.headers['authorization'])
    assert.notEqual(ts1, ts2)
    assert.notEqual(nonce1, nonce2)
    assert.deepEqual(
      (await deliveries.attempts(TOPIC, 'c1', 10)).map((logged) => [logged.attempt, logged.status_code, logged.error]),
      [
        [2, 200, null],
        [1, 500, null],
      ],
    )
  })

  test('is not sent unsigned: without a key it waits for one', async (t) => {
    const { attempt, sent } = await setup(t, { hasKey: false })

    const delivered = await attempt(http(200))

    assert.deepEqual([delivered?.ok, sent.length], [false, 0])
  })
})
