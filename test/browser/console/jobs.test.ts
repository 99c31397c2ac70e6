// The story of an admin who looks for what failed, learns why, and sends it again.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ReeveClient } from '@reeve/sdk'
import { newJobId } from '../../../src/core/random.ts'
import { NO_BROWSER } from '../../support/browser.ts'
import { tokenOf } from '../../support/reeve.ts'
import { checkLooks, openConsole, takePicture, type ConsoleWorld } from './console.ts'

const FILL = `
  insert into jobs (job_id, kind, state, priority, rank, payload, attempt_id, lease_owner, reason, started_at, finished_at, submitted_at)
  select (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || '7000' || '8' || lpad(to_hex(n), 15, '0'))::uuid,
         kind, state, 5, n, json_build_object('to', 'ann@example.org', 'password', 'hunter2'), attempts, 'worker-' || n % 3, reason,
         at + interval '40 ms', at + interval '40 ms' + n % 900 * interval '3 ms', at
    from (select n, now() - n * interval '7 seconds' as at, (array['send_email', 'report', 'resize_image'])[1 + n % 3] as kind,
                 (case when n % 11 = 0 then 'dead' else 'done' end)::job_state as state, 1 + (n % 11 = 0)::integer * 4 as attempts,
                 case when n % 11 = 0 then 'SMTP 451: try again later' end as reason
            from generate_series(1, $1::integer) as n) as made`

const RUNNING = `
  insert into jobs (job_id, kind, state, priority, rank, payload, attempt_id, lease_owner, lease_until, started_at)
  values ($1, 'judge', 'processing', 5, 1, '{}', 1, 'worker-1', now() + interval '1 hour', now())`

const TESTS = `
  insert into events (outbox_id, channel, type, payload)
  values ($2, 'judge:' || $1, 'progress', json_build_object('attempt_id', 1, 'total', 12, 'tests', array_fill(1, array[$3::integer])))`

async function clientOf(world: ConsoleWorld): Promise<ReeveClient> {
  return new ReeveClient({ url: world.url, token: (await tokenOf(world.url, 'admin')).token })
}

describe('the page of jobs', () => {
  test('from a search to the reason and a replay, with filters that stay in the URL', async (t) => {
    const world = await openConsole(t, { doors: 'judge' })
    if (world === null) return t.skip(NO_BROWSER)
    await world.database.query(FILL, [500])
    const client = await clientOf(world)
    const page = await world.visit({ as: 'admin', path: '/console/jobs' })
    await page
      .getByRole('row', { name: /report/ })
      .first()
      .waitFor()
    await page.getByText('live', { exact: true }).waitFor()
    assert((await page.getByRole('row').count()) < 60, 'of 500 rows only those in sight are drawn')
    await checkLooks(page)
    await takePicture(page, 'jobs')

    await page.getByRole('button', { name: 'Dead' }).click()
    await page.getByRole('combobox', { name: 'Search jobs' }).click()
    await page.keyboard.press('End')
    await page.keyboard.type(' kind:send_email')
    await page.waitForURL(/state(?:%3A|:)dead.*kind(?:%3A|:)send_email/)
    await page.keyboard.press('Escape')
    await page.keyboard.press('Escape')
    const line = await page.getByRole('combobox', { name: 'Search jobs' }).inputValue()
    assert.match(line, /kind:send_email/, 'Esc closes the list and keeps what was typed')
    await page.getByRole('button', { name: 'Done' }).click()
    await page.waitForURL(/state(?:%3A|:)done/)
    assert.match(decodeURIComponent(page.url()), /kind:send_email/, 'the tab keeps the filter')
    await page.goto(`${world.origin}/console/jobs?q=state:dead kind:send_email`)
    await page
      .getByRole('row', { name: /SMTP 451/ })
      .first()
      .click()

    await page.getByRole('heading', { name: 'send_email' }).waitFor()
    await page.getByText('SMTP 451: try again later').first().waitFor()
    assert.equal(await page.getByText('hunter2').count(), 0, 'what looks like a secret is masked')
    await takePicture(page, 'job')
    await page.getByRole('button', { name: 'Show password' }).click()
    await page.getByText('hunter2').waitFor()
    await checkLooks(page)

    await page.getByRole('button', { name: 'Replay' }).click()
    await page.getByText('Replay of', { exact: true }).waitFor()
    const { jobs } = await client.jobs.list({ state: 'pending', kind: 'send_email' })
    assert.equal(jobs.length, 1)

    const running = newJobId()
    await world.database.query(RUNNING, [running])
    await world.database.query(TESTS, [running, 1_000_001, 3])
    await page.goto(`${world.origin}/console/jobs/${running}`)
    await page.getByText('3 of 12 tests judged').waitFor()
    await checkLooks(page)
    await takePicture(page, 'job-progress')
    await world.database.query(TESTS, [running, 1_000_002, 4])
    await page.getByText('7 of 12 tests judged').waitFor()
    return undefined
  })

  test('a job appears by itself, its state follows, also after the connection was lost', async (t) => {
    const world = await openConsole(t, { doors: 'judge' })
    if (world === null) return t.skip(NO_BROWSER)
    const client = await clientOf(world)
    const page = await world.visit({ as: 'admin', path: '/console/jobs' })
    await page.getByText('No jobs yet').waitFor()
    await page.getByText('live', { exact: true }).waitFor()

    await client.jobs.submit({ kind: 'echo', payload: {} })
    await page.getByRole('row', { name: /echo.*Done/ }).waitFor()
    world.network.partition()
    await page.getByText('reconnecting…').waitFor()
    await page.getByText(/^As of \d{4}-/).waitFor()
    await client.jobs.submit({ kind: 'echo', payload: {} })
    world.network.heal()
    await page.getByText('live', { exact: true }).waitFor()
    await page
      .getByRole('row', { name: /echo.*Done/ })
      .nth(1)
      .waitFor()
    return undefined
  })

  test('all that match are cancelled, with the count first; the keyboard alone opens a row', async (t) => {
    const world = await openConsole(t, { doors: 'judge', role: 'serve' })
    if (world === null) return t.skip(NO_BROWSER)
    const client = await clientOf(world)
    await Promise.all(Array.from({ length: 130 }, () => client.jobs.submit({ kind: 'echo', payload: {} })))
    const page = await world.visit({ as: 'admin', path: '/console/jobs?q=state:waiting' })
    await page.getByRole('row', { name: /echo/ }).first().waitFor()
    await page.getByRole('checkbox', { name: 'Choose all rows that are loaded' }).click()
    await page.getByRole('button', { name: 'Choose all that match' }).click()
    await page.getByText('All 130 that match').waitFor()
    await page.getByRole('button', { name: 'Cancel', exact: true }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel 130 jobs' }).click()
    await page.getByText('Cancelled 130 jobs').waitFor()
    await page.getByText('No job matches').waitFor()

    await page.goto(`${world.origin}/console/jobs`)
    const first = page.getByRole('row', { name: /echo.*Dead/ }).first()
    await first.focus()
    await page.keyboard.press('j')
    await page.keyboard.press('k')
    await page.keyboard.press('Enter')
    await page.getByText('cancelled by an admin').first().waitFor()
    return undefined
  })

  test('at phone width the list and a job fit, with a name of 200 characters', async (t) => {
    const world = await openConsole(t, { doors: 'judge' })
    if (world === null) return t.skip(NO_BROWSER)
    await world.database.query(FILL, [40])
    await world.database.query(`update jobs set kind = $1 where state = 'dead'`, [`مرحبا${'long_name_'.repeat(19)}`])
    const page = await world.visit({ as: 'admin', path: '/console/jobs', width: 'phone' })
    await page
      .getByRole('row', { name: /long_name/ })
      .first()
      .waitFor()
    await checkLooks(page)
    await takePicture(page, 'jobs-phone')
    await page
      .getByRole('row', { name: /long_name/ })
      .first()
      .getByRole('link')
      .click()
    await page.getByText('What happened').waitFor()
    await checkLooks(page)
    return undefined
  })
})
