// The overview of an admin: what needs attention first, and charts that move.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ReeveClient } from '@reeve/sdk'
import { NO_BROWSER } from '../../support/browser.ts'
import { newAccount, tokenOf } from '../../support/reeve.ts'
import { until } from '../../support/until.ts'
import { checkLooks, openConsole, takePicture } from './console.ts'

const SILENT = `update pool_workers set last_seen_at = clock_timestamp() - interval '1 hour' where name = 'silent'`
const OVERDUE = `update captcha_task set overdue_at = clock_timestamp() where url like '%late'`
const UNANNOUNCED = `
  insert into outbox_events (topic, payload, created_at) values ('feed', '{}', clock_timestamp() - interval '1 minute')`

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
    const tried: string[] = []
    page.on('request', (request) => tried.push(new URL(request.url()).search))
    world.network.partition()
    await page.getByText(/^As of /).waitFor()
    world.network.heal()
    await page.getByText('live', { exact: true }).waitFor()
    const connections = () => tried.filter((query) => query.startsWith('?connection=')).length
    await until('connections that may have died are found out', () => connections() >= 6)
    assert.equal(connections(), 6, 'at once')
    await page.getByText(/^As of /).waitFor({ state: 'detached' })
    return undefined
  })

  test('what needs attention at a door leads to its filtered list', async (t) => {
    const world = await openConsole(t, { doors: 'pool,desk' })
    if (world === null) return t.skip(NO_BROWSER)
    const owner = await newAccount(world.url, 'olga', ['WORKER_OWNER', 'SCRAPER'])
    const client = new ReeveClient({ url: world.url, token: owner.token })
    for (const name of ['silent', 'never seen']) await client.pool.register({ name })
    await world.database.query(SILENT)
    await client.request('POST', '/api/v1/captcha/tasks', { body: { url: 'https://shop.example/late' } })
    await client.request('POST', '/api/v1/captcha/tasks', { body: { url: 'https://shop.example/early' } })
    await world.database.query(OVERDUE)
    await world.database.query(UNANNOUNCED)

    const page = await world.visit({ as: 'admin', path: '/console/overview' })
    const attention = page.getByRole('list', { name: 'Needs attention' })
    await attention.getByRole('link', { name: '1 announcement of jobs behind by more than 30 s' }).waitFor()
    await checkLooks(page)
    await attention.getByRole('link', { name: '1 worker went offline today' }).click()
    await page.getByRole('row', { name: /silent.*Offline/ }).waitFor()
    await page.goBack()
    await attention.getByRole('link', { name: '1 overdue task at the desk' }).click()
    await page.getByText('/late').first().waitFor()
    assert.equal(await page.getByText('/early').count(), 0)
    return undefined
  })
})
