// The signal of a request that waits: it aborts when its client leaves or the server stops, however many wait.
import assert from 'node:assert/strict'
import { getEventListeners } from 'node:events'
import { test, type TestContext } from 'node:test'
import fastify from 'fastify'
import { RequestStop, type StopSignal } from '../../src/core/concurrency/stop-signal.ts'
import { waitSignal } from '../../src/core/http/request/prefer.ts'
import { until } from '../support/until.ts'

const CROWD = 20

async function startWaiting(t: TestContext) {
  const stop = new AbortController()
  const signals: StopSignal[] = []
  const app = fastify()
  app.decorate('draining', stop.signal)
  app.get('/wait', async (request, reply) => {
    const signal = waitSignal(request, reply)
    signals.push(signal)
    await new Promise<void>((resolve) => signal.addEventListener('abort', resolve))
    return { aborted: true }
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  t.after(() => app.close())
  const wait = (signal?: AbortSignal) => fetch(`${url}/wait`, signal === undefined ? {} : { signal })
  const allWait = (count: number) => until(`${count} wait`, () => signals.length === count)
  return { stop, signals, wait, allWait }
}

test('all waiting requests share one listener on the stop of the server, and all are told of it', async (t) => {
  const { stop, signals, wait, allWait } = await startWaiting(t)
  const answers = Array.from({ length: CROWD }, () => wait())
  await allWait(CROWD)

  assert.equal(getEventListeners(stop.signal, 'abort').length, 1)
  stop.abort()

  assert.deepEqual(
    (await Promise.all(answers)).map(({ status }) => status),
    answers.map(() => 200),
  )
  assert(signals.every(({ aborted }) => aborted))
})

test('a client that leaves aborts its own wait and no other', async (t) => {
  const { stop, signals, wait, allWait } = await startWaiting(t)
  const leaving = new AbortController()
  const left = wait(leaving.signal).catch((error: unknown) => error)
  await allWait(1)
  const stays = wait()
  await allWait(2)

  leaving.abort()
  await left
  await until('its wait is aborted', () => signals[0]?.aborted === true)

  assert.equal(signals[1]?.aborted, false)
  stop.abort()
  assert.equal((await stays).status, 200)
})

test('a listener that was removed is not called', () => {
  const stop = new RequestStop()
  const heard: string[] = []
  const leaves = () => heard.push('leaves')
  stop.addEventListener('abort', leaves)
  stop.addEventListener('abort', () => heard.push('stays'))
  stop.removeEventListener('abort', leaves)

  stop.abort()
  stop.abort()

  assert.deepEqual(heard, ['stays'])
})
