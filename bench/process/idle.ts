// What a server costs that nobody uses: processor time, wake-ups and statements a second, of the server and of its PostgreSQL.
import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client } from 'pg'
import { processorMicros } from '../processor.ts'
import { usageOf } from '../pool/usage.ts'
import type { StartedReeve } from '../servers/reeve.ts'

const SETTLE_MS = 60_000 // first passes of all loops, what the compiler does with them, and V8's collections after the start

export interface IdleCost {
  /** Percent of a core. */
  server: number
  postgres: number
  wakeUps: number
  statements: number
  rssMb: number
}

export async function measureIdle(server: StartedReeve, dataDir: string, seconds: number): Promise<IdleCost> {
  await server.said('ready to judge') // the judge prepares its sandbox after the start
  await sleep(SETTLE_MS)
  const client = new Client({ host: `${dataDir}/run`, user: 'reeve', database: 'reeve' })
  await client.connect()
  const read = async () => ({
    at: performance.now(),
    server: (await usageOf(server.pid)).cpuMs,
    family: processorMicros([server.pid]) / 1000,
    wakeUps: wakeUpsOf(server.pid),
    commits: await commitsOf(client),
  })
  const before = await read()
  await sleep(seconds * 1000)
  const after = await read()
  await client.end()

  const elapsedMs = after.at - before.at
  const own = after.server - before.server
  return {
    server: (own / elapsedMs) * 100,
    postgres: ((after.family - before.family - own) / elapsedMs) * 100,
    wakeUps: ((after.wakeUps - before.wakeUps) / elapsedMs) * 1000,
    statements: ((after.commits - before.commits) / elapsedMs) * 1000,
    rssMb: (await usageOf(server.pid)).rssMb,
  }
}

/** Transactions of the database, which is statements where nothing else is going on. */
async function commitsOf(client: Client): Promise<number> {
  const { rows } = await client.query<{ commits: string }>(
    `select xact_commit as commits from pg_stat_database where datname = current_database()`,
  )
  return Number(rows[0]?.commits ?? 0)
}

function wakeUpsOf(pid: number): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  const wakeUps = threads.map((id) =>
    Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/task/${id}/status`, 'utf8'))?.[1] ?? 0),
  )
  return wakeUps.reduce((sum, one) => sum + one, 0)
}
