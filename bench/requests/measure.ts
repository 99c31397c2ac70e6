import { percentile } from '../statistics.ts'
import type { Reeve } from '../pool/server.ts'
import type { Counting, Counts } from './counting.ts'
import type { Scene, Steps } from './scene.ts'

const WARM_UP = 20 // rounds of all requests of a door, until V8 has compiled what they call

/** Of one request, in the mean; the time until it was served is the median. */
export interface StepCost extends Counts {
  name: string
  sentBytes: number
  receivedBytes: number
  servedMs: number
  serverMs: number
  postgresMs: number
}

export interface Measuring {
  scene: Scene
  reeve: Reeve
  counting: Counting
  count: number
}

export async function measureSteps(steps: Steps, { scene, reeve, counting, count }: Measuring): Promise<StepCost[]> {
  for (const { send } of await steps(scene, WARM_UP)) for (let n = 0; n < WARM_UP; n += 1) await send(n)
  await counting.settled()
  const costs: StepCost[] = []
  for (const { name, send } of await steps(scene, count)) {
    const times: number[] = []
    let [sentBytes, receivedBytes] = [0, 0]
    const before = await reeve.usage()
    let after = before
    const counts = await counting.during(async () => {
      for (let n = 0; n < count; n += 1) {
        const started = performance.now()
        const answer = await send(n)
        times.push(performance.now() - started)
        sentBytes += answer.sentBytes
        receivedBytes += answer.receivedBytes
      }
      after = await reeve.usage()
    })
    costs.push({
      name,
      sentBytes: sentBytes / count,
      receivedBytes: receivedBytes / count,
      servedMs: percentile(times, 50),
      serverMs: (after.cpuMs - before.cpuMs) / count,
      postgresMs: (after.postgresCpuMs - before.postgresCpuMs) / count,
      statements: counts.statements / count,
      statementsMs: counts.statementsMs / count,
      flushes: counts.flushes / count,
      walBytes: counts.walBytes / count,
    })
    console.error(`${name}: ${(counts.statements / count).toFixed(1)} statements`)
  }
  return costs
}
