import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import type { OutboundAnswer, OutboundRefusal, OutboundRequest } from '../../src/core/outbound/outbound.ts'
import type { Delivered } from '../../src/core/outbox/delivery.ts'
import type { Refused } from '../../src/core/outcome.ts'
import { openDeliveries } from '../../src/core/deliveries/deliveries.ts'
import { openOutbox } from '../../src/core/outbox/outbox.ts'
import { testDatabase } from '../support/database.ts'

type Answer = OutboundAnswer | Refused<OutboundRefusal>

const http = (status: number, headers: Record<string, string> = {}): Answer => ({
  ok: true,
  status,
  headers,
  body: Buffer.alloc(0),
})

const TOPIC = 'letters'

/** One attempt of one request, with the other side's answer and the process's clock made up. */
async function setup(t: TestContext, options: { hasKey?: boolean } = {}) {
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
  const deliveries = openDeliveries({ database, outbox, outbound, clock })
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
  return { attempt, sent, delivery, deliveries }
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

  test('has one body and X-Request-ID, ten seconds, and a new nonce and ts for each attempt', async (t) => {
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
