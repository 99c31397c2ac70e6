// What open overview pages cost: each follows the topics of /live that the page follows, as a browser does.
import { setTimeout as sleep } from 'node:timers/promises'
import { ReeveClient } from '@reeve/sdk'
import { WebSocket } from 'ws'
import type { Reeve } from '../pool/server.ts'
import type { Teardown } from '../teardown.ts'

const SETTLE_MS = 5000

export interface OverviewCost {
  /** Percent of a core, without pages and with them. */
  server: { without: number; with: number }
  postgres: { without: number; with: number }
  messagesPerSec: number
}

export async function measureOverview(
  reeve: Reeve,
  { pages, seconds, teardown }: { pages: number; seconds: number; teardown: Teardown },
): Promise<OverviewCost> {
  await sleep(SETTLE_MS)
  const without = await usageDuring(reeve, seconds)
  let messages = 0
  const client = new ReeveClient({ url: reeve.url, token: reeve.admin.authorization.replace('Bearer ', '') })
  const opened = Array.from({ length: pages }, () => client.live({ WebSocket }))
  const close = teardown.add(async () => opened.forEach((live) => live.close()))
  await Promise.all(
    opened.map(
      (live) =>
        new Promise<void>((resolve, reject) => {
          live.follow({ topic: 'desk', onMessage: () => {} })
          live.follow({
            topic: 'overview',
            onMessage: ({ type }) => {
              if (type === 'sample') messages += 1
              if (type === 'sample') resolve()
            },
            onRefused: (code) => reject(new Error(`The overview was refused: ${code}.`)),
          })
        }),
    ),
  )
  await sleep(SETTLE_MS)
  const before = messages
  const used = await usageDuring(reeve, seconds)
  const messagesPerSec = (messages - before) / seconds
  await close()
  return {
    server: { without: without.server, with: used.server },
    postgres: { without: without.postgres, with: used.postgres },
    messagesPerSec,
  }
}

async function usageDuring(reeve: Reeve, seconds: number): Promise<{ server: number; postgres: number }> {
  const [started, before] = [performance.now(), await reeve.usage()]
  await sleep(seconds * 1000)
  const [ended, after] = [performance.now(), await reeve.usage()]
  const percent = (ms: number) => (ms / (ended - started)) * 100
  return { server: percent(after.cpuMs - before.cpuMs), postgres: percent(after.postgresCpuMs - before.postgresCpuMs) }
}
