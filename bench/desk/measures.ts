// How long a waiting program waits after a person has solved its task.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Ask, Field } from './field.ts'

const TASKS = '/api/v1/captcha/tasks'
const WAIT_SEC = 50
const AT_ONCE = 50
const SETTLE_MS = 1000
const SOLUTION = { type: 'cookie', payload: [{ name: 'cf_clearance', value: 'x'.repeat(200) }] }

export interface Sizes {
  waiters: number
  /** Solutions per second. */
  rate: number
}

export interface Latencies {
  /** From the operator's request to the program's answer, in milliseconds. */
  fromRequest: number[]
  /** From the operator's answer to the program's: how long a solution that is on disk takes to arrive. */
  fromAnswer: number[]
}

/** As many programs as `waiters`, each with a task of its own that the operator has claimed, solved one after the other. */
export async function eachItsOwn({ program, operator }: Field, { waiters, rate }: Sizes): Promise<Latencies> {
  const uuids = await inTurns(waiters, async (n) => {
    const { body } = await program('POST', TASKS, { body: { url: `https://s${n}.example/` } })
    const { status } = await operator('POST', `${TASKS}/${body.uuid}/assign`, { body: { operator_id: 'operator' } })
    if (status !== 200) throw new Error(`A claim was refused: ${status}`)
    return String(body.uuid)
  })
  const arrivedAt = new Map<string, number>()
  const waiting = uuids.map(async (uuid) => {
    await untilSolved(program, uuid)
    arrivedAt.set(uuid, performance.now())
  })
  await sleep(SETTLE_MS)

  const times = new Map<string, { sent: number; answered: number }>()
  const began = performance.now()
  const solving = uuids.map(async (uuid, n) => {
    await sleep(Math.max(0, (n / rate) * 1000 - (performance.now() - began)))
    const sent = performance.now()
    const { status } = await operator('POST', `${TASKS}/${uuid}/solve`, { body: SOLUTION })
    if (status !== 200) throw new Error(`A solution was refused: ${status}`)
    times.set(uuid, { sent, answered: performance.now() })
  })
  await Promise.all(solving)
  await Promise.all(waiting)
  const all = uuids.map((uuid) => ({
    arrived: arrivedAt.get(uuid) ?? NaN,
    ...(times.get(uuid) ?? { sent: NaN, answered: NaN }),
  }))
  return {
    fromRequest: all.map(({ arrived, sent }) => arrived - sent),
    fromAnswer: all.map(({ arrived, answered }) => Math.max(0, arrived - answered)),
  }
}

/** All of them for the session of one domain: one solution wakes everyone. */
export async function allForOne({ program, operator }: Field, { waiters }: Sizes): Promise<number[]> {
  const { body } = await program('POST', TASKS, { body: { url: 'https://herd.example/' } })
  const waiting = Array.from({ length: waiters }, async () => {
    const { body: found } = await program('GET', '/api/v1/captcha/sessions/herd.example', { waitSec: WAIT_SEC })
    if (found.has_session !== true) throw new Error('A waiting program was not woken.')
    return performance.now()
  })
  await sleep(SETTLE_MS)
  const sent = performance.now()
  await operator('POST', `${TASKS}/${body.uuid}/solve`, { body: SOLUTION })
  return (await Promise.all(waiting)).map((arrived) => arrived - sent)
}

async function untilSolved(program: Ask, uuid: string): Promise<void> {
  for (;;) {
    const { body } = await program('GET', `${TASKS}/${uuid}`, { waitSec: WAIT_SEC })
    if (body.status === 'solved') return
  }
}

async function inTurns<T>(count: number, work: (n: number) => Promise<T>): Promise<T[]> {
  const results: T[] = []
  for (let n = 0; n < count; n += AT_ONCE) {
    const turn = Array.from({ length: Math.min(AT_ONCE, count - n) }, (_, index) => work(n + index))
    results.push(...(await Promise.all(turn)))
  }
  return results
}
