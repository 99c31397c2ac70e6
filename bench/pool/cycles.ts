// Full cycles per second: a client submits and waits, a worker polls, signs and submits, the client sees the result.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Reeve } from './server.ts'
import { cycle, poll, registerWorkers, submit } from './workers.ts'

const WARM_MS = 2000

export interface Cycles {
  workers: number
  replicas: number
  perSec: number
}

export async function measureCycles(
  reeve: Reeve,
  options: { workers: number; replicas: number; seconds: number },
): Promise<Cycles> {
  const { workers: count, replicas, seconds } = options
  const label = `cycles ${count} ${replicas}`
  const client = await reeve.account(`${label} client`, 'CLIENT')
  // Replicas go to different owners.
  const owners = await Promise.all(
    Array.from({ length: Math.max(1, replicas) }, (_, n) => reeve.account(`${label} owner ${n}`, 'WORKER_OWNER')),
  )
  const crews = await Promise.all(
    owners.map((owner, n) => {
      const names = Array.from({ length: Math.ceil(count / owners.length) }, (_, w) => `${label} ${n} ${w}`)
      return registerWorkers(reeve, owner, names)
    }),
  )
  const over = { isAsked: false, isDone: false }
  let done = 0
  const working = crews.flat().map(async (worker) => {
    while (!over.isDone) {
      const found = await poll(reeve, worker)
      if (found !== null) await submit(reeve, worker, found.assigned)
    }
  })
  // Twice as many clients as can be served at once: a worker never waits for one.
  const more = replicas === 1 ? {} : { replicas, quorum: Math.floor(replicas / 2) + 1 }
  const asking = Array.from({ length: Math.ceil((2 * count) / replicas) }, async () => {
    while (!over.isAsked) {
      await cycle(reeve, client, more)
      done += 1
    }
  })
  await sleep(WARM_MS)
  const [before, started] = [done, performance.now()]
  await sleep(seconds * 1000)
  const perSec = ((done - before) / (performance.now() - started)) * 1000
  over.isAsked = true
  await Promise.all(asking) // the workers go on until every client has its answer
  over.isDone = true
  // They are in their last poll: one job each ends it.
  await Promise.all(crews.flat().map(() => reeve.http.post('/v1/jobs', { payload: {} }, { ...client })))
  await Promise.all(working)
  return { workers: count, replicas, perSec }
}
