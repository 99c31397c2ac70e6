// The overview of an admin: what needs attention first, and charts that move.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ReeveClient } from '@reeve/sdk'
import { NO_BROWSER } from '../../support/browser.ts'
import { tokenOf } from '../../support/reeve.ts'
import { checkLooks, openConsole, takePicture } from './console.ts'

describe('the overview', () => {
  test('nothing needs attention until a job dies; the notice leads to it', async (t) => {
    const world = await openConsole(t, { doors: 'judge' })
    if (world === null) return t.skip(NO_BROWSER)
    const client = new ReeveClient({ url: world.url, token: (await tokenOf(world.url, 'admin')).token })
    const page = await world.visit({ as: 'admin', path: '/console/overview' })
    await page.getByText('Nothing needs attention.').waitFor()
    await checkLooks(page)

    await Promise.all(
      Array.from({ length: 20 }, () => client.jobs.submit({ kind: 'echo', payload: { sleep_ms: 200 } })),
    )
    const doomed = await client.jobs.submit({ kind: 'echo', payload: {}, delay_ms: 3_600_000 })
    await client.jobs.cancel(doomed.job_id, 'nobody wants it')
    const notice = page.getByRole('link', { name: /^1 dead job$/ })
    await notice.waitFor()
    await page.locator('canvas').nth(3).waitFor()
    await checkLooks(page)
    await takePicture(page, 'overview')
    await notice.click()

    await page.getByRole('row', { name: /nobody wants it/ }).waitFor()
    assert.match(decodeURIComponent(page.url()), /q=state:dead/)
    return undefined
  })

  test('on a phone it fits, and goes on after the connection was lost', async (t) => {
    const world = await openConsole(t, { doors: 'judge' })
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit({ as: 'admin', path: '/console/overview', width: 'phone' })
    await page.getByText('Nothing needs attention.').waitFor()
    await checkLooks(page)
    world.network.partition()
    await page.getByText(/^As of /).waitFor()
    world.network.heal()
    await page.getByText('live', { exact: true }).waitFor()
    await page.getByText(/^As of /).waitFor({ state: 'detached' })
    return undefined
  })
})
