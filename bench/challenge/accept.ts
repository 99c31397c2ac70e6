// How many requests a server accepts per second, and how long it takes: as many as it can, or at a steady rate.
import { percentile } from '../statistics.ts'
import { closedLoop, openLoop, type Answers } from './load.ts'
import { processorMicros } from '../processor.ts'
import type { Options } from './options.ts'
import { solveRequests } from './requests.ts'

const WARM_UP_SECONDS = 2
const PER_SECOND_MAX = 60_000 // prepared for each second: more than any server here answers
const callbackUrl = (id: string) => `https://challenger.example/callback/${id}`

export interface Accepting {
  perSecond: number
  p50: number
  p99: number
  /** Processor time per request. */
  micros?: Processor
}

export interface Processor {
  server: number
  postgres: number
  client: number
}

export type Pids = Omit<Processor, 'client'>

export async function measureAccept(port: number, { seconds, connections }: Options, pids: Pids): Promise<Accepting> {
  const load = (seconds: number) => {
    const requests = solveRequests({ count: seconds * PER_SECOND_MAX, callbackUrl })
    return closedLoop({ port, connections, requests }, seconds)
  }
  await load(WARM_UP_SECONDS)
  const requests = solveRequests({ count: seconds * PER_SECOND_MAX, callbackUrl })
  const before = processorOf(pids)
  const answers = await closedLoop({ port, connections, requests }, seconds)
  const after = processorOf(pids)
  const perRequest = (name: keyof Processor) => Math.round((after[name] - before[name]) / answers.latencies.length)
  const micros = { server: perRequest('server'), postgres: perRequest('postgres'), client: perRequest('client') }
  return { ...figures(answers), micros }
}

function processorOf({ server, postgres }: Pids): Processor {
  const { user, system } = process.cpuUsage()
  return { server: processorMicros([server]), postgres: processorMicros([postgres]), client: user + system }
}

export async function measureSteady(port: number, { seconds, rate, connections }: Options): Promise<Accepting> {
  const load = (seconds: number) =>
    openLoop({ port, connections, requests: solveRequests({ count: seconds * rate, callbackUrl }) }, rate)
  await load(WARM_UP_SECONDS)
  return figures(await load(seconds))
}

const figures = ({ perSecond, latencies }: Answers): Accepting => ({
  perSecond,
  p50: percentile(latencies, 50),
  p99: percentile(latencies, 99),
})
