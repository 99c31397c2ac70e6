// How long a person waits who opens the console for the first time: an empty cache, and every core kept busy by somebody else.
import { spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { launchBrowser } from '../../test/support/browser.ts'
import type { Reeve } from '../pool/server.ts'
import { stopChild } from '../servers/stop-child.ts'
import type { Teardown } from '../teardown.ts'

const REPETITIONS = 7
const STOP_MS_MAX = 1000
const BUSY = 'for (;;);'

/** Milliseconds until the form can be filled in, of each visit. Null: there is no browser here. */
export async function measureFirstPage(reeve: Reeve, teardown: Teardown): Promise<number[] | null> {
  const browser = await launchBrowser()
  if (browser === null) return null
  const close = teardown.add(() => browser.close())
  const busy = Array.from({ length: availableParallelism() }, () => spawn(process.execPath, ['-e', BUSY]))
  const stop = teardown.add(async () => {
    await Promise.all(busy.map((child) => stopChild(child, STOP_MS_MAX)))
  })
  const times: number[] = []
  for (let visit = 0; visit < REPETITIONS; visit += 1) {
    const context = await browser.newContext() // with a cache of its own
    const page = await context.newPage()
    const started = performance.now()
    await page.goto(reeve.url, { waitUntil: 'commit' })
    await page.getByLabel('Name', { exact: true }).fill('ann')
    times.push(performance.now() - started)
    await context.close()
  }
  await stop()
  await close()
  return times
}
