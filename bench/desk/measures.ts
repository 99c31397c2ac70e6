// How long a waiting program waits after a person has solved its task.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Ask } from './ask.ts'
import type { Field, ProcessorTime } from './field.ts'

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
    const created = await program('POST', TASKS, { body: { url: `https://s${n}.example/` } })
    const { uuid } = created.json()
    const { status } = await operator('POST', `${TASKS}/${uuid}/assign`, { body: { operator_id: 'operator' } })
    if (status !== 200) throw new Error(`A claim was refused: ${status}`)
    return String(uuid)
  })
  const arrivedAt = new Map<string, number>()
  const waiting = uuids.map(async (uuid) => {
    arrivedAt.set(uuid, await untilSolved(program, uuid))
  })
  await sleep(SETTLE_MS)

  const times = new Map<string, { sent: number; answered: number }>()
  const began = performance.now()
  const solving = uuids.map(async (uuid, n) => {
    await sleep(Math.max(0, (n / rate) * 1000 - (performance.now() - began)))
    const sent = performance.now()
    const { status, arrivedAt: answered } = await operator('POST', `${TASKS}/${uuid}/solve`, { body: SOLUTION })
    if (status !== 200) throw new Error(`A solution was refused: ${status}`)
    times.set(uuid, { sent, answered })
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

export interface Herd {
  /** From the operator's request to each program's answer, in milliseconds. */
  latencies: number[]
  /** Microseconds for one of the programs, from the operator's request to the last answer. */
  processor: ProcessorTime
}

/** All of them for the session of one domain: one solution wakes everyone. */
export async function allForOne(
  { program, operator, spent }: Field,
  domain: string,
  { waiters }: Sizes,
): Promise<Herd> {
  const created = await program('POST', TASKS, { body: { url: `https://${domain}/` } })
  const { uuid } = created.json()
  const path = `/api/v1/captcha/sessions/${domain}`
  const waiting = Array.from({ length: waiters }, () => program('GET', path, { waitSec: WAIT_SEC }))
  await sleep(SETTLE_MS)
  const before = spent()
  const sent = performance.now()
  await operator('POST', `${TASKS}/${uuid}/solve`, { body: SOLUTION })
  const answers = await Promise.all(waiting)
  const after = spent()
  if (answers.some((answer) => answer.json().has_session !== true)) throw new Error('A waiting program was not woken.')
  const each = (of: keyof ProcessorTime) => (after[of] - before[of]) / waiters
  return {
    latencies: answers.map(({ arrivedAt }) => arrivedAt - sent),
    processor: { server: each('server'), postgres: each('postgres'), load: each('load') },
  }
}

/** The moment at which the program had the solution. */
async function untilSolved(program: Ask, uuid: string): Promise<number> {
  for (;;) {
    const answer = await program('GET', `${TASKS}/${uuid}`, { waitSec: WAIT_SEC })
    if (answer.json().status === 'solved') return answer.arrivedAt
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
