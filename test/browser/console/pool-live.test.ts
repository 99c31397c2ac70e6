// What pages show of jobs that are hard to find and of workers that send heartbeats all the time.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ReeveClient } from '@reeve/sdk'
import type { Page } from 'playwright-core'
import { NO_BROWSER } from '../../support/browser.ts'
import { tokenOf } from '../../support/reeve.ts'
import { until } from '../../support/until.ts'
import { holdAnswer, openConsole } from './console.ts'

const ELSEWHERE = '/console/docs'
const HEARTBEAT = `update pool_workers set last_seen_at = clock_timestamp()`

/** As the server answers where its search ends before it comes to a job of this client. */
const emptyFirstPage = (page: Page) =>
  page.route(
    (url) => url.pathname === '/v1/jobs' && !url.searchParams.has('before'),
    (route) => route.fulfill({ json: { jobs: [], next_before: 'ffffffff-ffff-4fff-8fff-ffffffffffff' } }),
  )

describe('the pages of the pool', () => {
  test('show jobs that only the second page of the server holds, and their changes', async (t) => {
    const world = await openConsole(t, { doors: 'pool' })
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit({ as: 'carl', roles: ['CLIENT'], path: ELSEWHERE })
    const client = new ReeveClient({ url: world.url, token: (await tokenOf(world.url, 'carl')).token })
    await client.pool.submit({ payload: {} })
    const { job_id: jobId } = await client.pool.submit({ payload: {} })
    await emptyFirstPage(page)

    await page.goto(`${world.origin}/console/pool/jobs`)
    await page
      .getByRole('row', { name: /Waiting/ })
      .nth(1)
      .waitFor()
    await page.getByText('live', { exact: true }).waitFor()
    await client.pool.cancel(jobId)
    await page.getByRole('row', { name: /Cancelled/ }).waitFor()
    assert.equal(await page.getByRole('row', { name: /Waiting/ }).count(), 1)

    await page.goto(world.origin)
    const glance = page.getByRole('region', { name: 'Jobs in the pool' })
    await glance.getByText('Cancelled').waitFor()
    await glance.getByText('Waiting').waitFor()
    return undefined
  })

  test('load no list for a heartbeat, and give up no answer for the next one', async (t) => {
    const world = await openConsole(t, { doors: 'pool' })
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit({ as: 'olga', roles: ['WORKER_OWNER'], path: ELSEWHERE })
    let loads = 0
    let messages = 0
    page.on('request', (request) => void (new URL(request.url()).pathname === '/workers' && (loads += 1)))
    page.on('websocket', (socket) =>
      socket.on('framereceived', ({ payload }) => void (String(payload).includes('last_seen_at') && (messages += 1))),
    )
    const owner = new ReeveClient({ url: world.url, token: (await tokenOf(world.url, 'olga')).token })
    const { id } = await owner.pool.register({ name: 'first' })
    const heartbeats = async () => {
      for (let times = 0; times < 4; times += 1) {
        const before = messages
        await world.database.query(HEARTBEAT)
        await until('a heartbeat is told', () => messages > before)
      }
    }
    await world.database.query(HEARTBEAT)
    await page.goto(world.origin)
    const glance = page.getByRole('region', { name: 'Workers' })
    await glance.getByText('Online').waitFor()
    await until('the worker is followed', () => messages > 0)

    const atFirst = loads
    await heartbeats()
    assert.equal(loads, atFirst)

    const held = await holdAnswer(page, '/workers')
    await owner.pool.update(id, { paused: true })
    await held.written()
    await heartbeats()
    assert.equal(loads, atFirst + 1, 'the answer under way is waited for')
    await held.release()
    await glance.getByText('Paused').waitFor()
    return undefined
  })
})
