// The story of somebody who sends a challenge and sees the answer checked, and of an admin who learns why a delivery failed.
import assert from 'node:assert/strict'
import { describe, test, type TestContext } from 'node:test'
import { ReeveClient } from '@reeve/sdk'
import type { Page } from 'playwright-core'
import { NO_BROWSER } from '../../support/browser.ts'
import { tokenOf } from '../../support/reeve.ts'
import { freePort } from '../../support/servers.ts'
import { until } from '../../support/until.ts'
import { startReceiver } from '../../contract/challenge/setup.ts'
import {
  checkLooks,
  holdAnswer,
  hostileUnlessPictured,
  openConsole,
  takePicture,
  type ConsoleWorld,
} from './console.ts'

const HOSTILE = hostileUnlessPictured(
  `<img src=x onerror="alert(1)">\u202E${'long_name_'.repeat(20)}`,
  'One sentence from a customer.',
)
const CODE = hostileUnlessPictured('<b>NO_ROOM</b>', 'NO_ROOM')

/** A server whose Solver is itself. */
async function openBothSides(t: TestContext, doors = 'challenge'): Promise<ConsoleWorld | null> {
  const port = String(await freePort())
  const here = `http://127.0.0.1:${port}`
  const env = {
    SERVER_PORT: port,
    SOLVER_URL: here,
    PUBLIC_CALLBACK_HOST: here,
    SHARED_SECRET_KEY: 'between us',
    ALLOW_INSECURE_CALLBACKS: 'true',
    OUTBOUND_ALLOW_CIDRS: '127.0.0.1/32',
  }
  return openConsole(t, { doors, env })
}

async function clientOf(world: ConsoleWorld, username: string): Promise<ReeveClient> {
  return new ReeveClient({ url: world.url, token: (await tokenOf(world.url, username)).token })
}

const OLD = `update outbox_events set created_at = '2025-06-01' where payload ->> 'subject' = 'old'`

const hostile = (id: string) => ({
  challenge_id: id,
  problem: { type: 'text', operation: 'trim', text: HOSTILE },
  validation_rule: { type: 'ExactMatch' } as const,
  answer: HOSTILE,
})

async function send(page: Page, solver: string): Promise<void> {
  await page.getByRole('button', { name: /^Send/ }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Solver', { exact: true }).fill(solver)
  await dialog.getByRole('button', { name: 'Send' }).click()
  await dialog.waitFor({ state: 'detached' })
}

/** A Solver that refuses once, with this error code, and then accepts. */
const startRefusing = (t: TestContext) =>
  startReceiver(t, [
    (_request, response) => response.writeHead(400).end(JSON.stringify({ error: { code: CODE } })),
    202,
  ])

describe('the page of challenges', () => {
  test('from a new challenge to its checked answer; what is refused is said in the form', async (t) => {
    const world = await openBothSides(t)
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit({ as: 'ann', roles: ['CHALLENGER'], path: '/console/challenges' })
    await page.getByText('No challenges yet').waitFor()
    await page.getByRole('link', { name: 'Challenges' }).first().waitFor()
    assert.equal(await page.getByRole('link', { name: 'Deliveries' }).count(), 0, 'deliveries are for admins')

    await page.getByRole('button', { name: 'New challenge' }).click()
    await page.getByLabel('Expression').fill('17*23+4')
    await page.getByLabel('An answer is correct').selectOption('NumericTolerance')
    await page.getByLabel('Answer', { exact: true }).fill('many')
    await page.getByLabel('Name').fill('sum')
    await checkLooks(page)
    await page.getByRole('button', { name: 'Create' }).click()
    await page.getByRole('alert').waitFor()
    await page.getByLabel('Answer', { exact: true }).fill('395.4')
    await page.getByLabel('Tolerance').fill('0.5')
    await page.getByRole('button', { name: 'Create' }).click()

    await page.getByRole('heading', { name: '17*23+4' }).waitFor()
    await page.getByText('Not sent', { exact: true }).waitFor()
    await page.getByText('A number within 0.5').waitFor()
    await send(page, '')
    await page.getByText('Correct', { exact: true }).waitFor()
    await page.getByText('395', { exact: true }).waitFor()
    await page.getByLabel('Attempts to send it').getByText('Answer 202').waitFor()
    await checkLooks(page)
    await takePicture(page, 'challenge')

    await page.goBack()
    await page.getByRole('row', { name: /sum.*Answered.*17\*23\+4/ }).waitFor()
    await checkLooks(page)
    await takePicture(page, 'challenges')
    return undefined
  })

  test('states and dead letters follow by themselves, also after the connection was lost; others see nothing of them', async (t) => {
    const world = await openBothSides(t)
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit({ as: 'ann', roles: ['CHALLENGER'], path: '/console/challenges' })
    const client = await clientOf(world, 'ann')
    await client.challenges.create({ ...hostile('one'), answer: 'x' })
    await client.challenges.create(hostile('two'))
    const solver = await startReceiver(t, [400, 400])
    const sendToRefusing = async (id: string) => {
      await client.challenges.create(hostile(id))
      await client.challenges.send(id, { solver_url: solver.url })
    }
    await sendToRefusing('refused')
    const letters = await world.visit({ as: 'admin', path: '/console/challenges/deliveries?status=dead' })
    await letters.getByRole('row', { name: /refused/ }).waitFor()
    await letters.reload()
    await letters.getByRole('row', { name: /refused/ }).waitFor()
    await letters.getByText('live', { exact: true }).waitFor()
    await page.reload()
    await page.getByRole('row', { name: /two.*Not sent/ }).waitFor()
    await page.getByText('live', { exact: true }).waitFor()

    await client.challenges.send('one')
    await page.getByRole('row', { name: /one.*Answered/ }).focus()
    await page.keyboard.press('Enter')
    await page.getByText('Wrong', { exact: true }).waitFor()
    await page.goBack()
    await page.getByRole('row', { name: /two.*Not sent/ }).waitFor()
    world.network.partition()
    await page.getByText('reconnecting…').waitFor()
    await letters.getByText('reconnecting…').waitFor()
    await client.challenges.send('two')
    await sendToRefusing('missed')
    world.network.heal()
    await page.getByRole('row', { name: /two.*Answered/ }).waitFor()
    await letters.getByRole('row', { name: /missed/ }).waitFor()

    await page.getByRole('row', { name: /two.*Answered/ }).click()
    await page.getByRole('heading', { name: 'Results' }).waitFor()
    let lost = 0
    page.on('requestfailed', () => (lost += 1))
    await page.route('**/challenges/two', (route) => route.abort())
    await world.database.query(`update challenges set state = 'send_failed' where challenge_id = 'two'`)
    await until('every try to read it again is lost', async () => lost >= 3)
    await page.unroute('**/challenges/two')
    await world.database.query(`update challenges set state = 'created' where challenge_id = 'two'`)
    await page.getByText('Not sent', { exact: true }).waitFor()

    const other = await world.visit({ as: 'bob', roles: ['CHALLENGER'], path: '/console/challenges/one' })
    await other.getByText('The challenge could not be loaded').waitFor()
    return undefined
  })

  test('at phone width the list and a challenge fit, and hostile text is text', async (t) => {
    const world = await openBothSides(t)
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit({ as: 'ann', roles: ['CHALLENGER'], path: '/console/challenges', width: 'phone' })
    const client = await clientOf(world, 'ann')
    await client.challenges.create(hostile('a'.repeat(128)))
    await client.challenges.send('a'.repeat(128))
    await page.reload()
    await page.getByRole('row', { name: /aaa.*Answered/ }).waitFor()
    await checkLooks(page)
    await page.getByRole('row', { name: /aaa/ }).getByRole('link').click()
    await page.getByText('Correct', { exact: true }).waitFor()
    await page.getByLabel('Answer', { exact: true }).getByText(HOSTILE.slice(0, 20).trim()).waitFor()
    await checkLooks(page)
    assert.equal(await page.locator('img[src=x]').count(), 0)
    return undefined
  })
})

describe('the page of deliveries', () => {
  test('a dead letter appears, says why, and is replayed; the overview leads to it', async (t) => {
    const world = await openBothSides(t)
    if (world === null) return t.skip(NO_BROWSER)
    const solver = await startRefusing(t)
    const page = await world.visit({ as: 'admin', path: '/console/challenges/deliveries?status=dead' })
    await page.getByText('No dead letters').waitFor()
    await page.getByText('live', { exact: true }).waitFor()
    const client = await clientOf(world, 'admin')
    await client.challenges.create(hostile('doomed'))
    await client.challenges.send('doomed', { solver_url: solver.url })

    const overview = await world.visit({ as: 'admin', path: '/console/overview' })
    await overview.getByRole('link', { name: /1 dead letter\b/ }).click()
    await overview.getByRole('row', { name: /doomed/ }).waitFor()
    const row = page.getByRole('row', { name: /Challenge for a Solver doomed.*Dead/ })
    await row.getByText(`HTTP 400 (${CODE})`).waitFor()
    await checkLooks(page)
    await takePicture(page, 'deliveries')
    await row.click()
    await page.getByText(`Answer 400: the other side says ${CODE}`).waitFor()

    const held = await holdAnswer(page, '/admin/deliveries?')
    await page.goBack()
    await held.written()
    await world.database.query(`update outbox_events set last_error = 'HTTP 599' where status = 'dead'`)
    await overview.getByRole('row', { name: /doomed.*HTTP 599/ }).waitFor()
    await held.release() // it is older than what the live connection has told
    await page.getByRole('row', { name: /doomed.*HTTP 599/ }).click()
    await page.getByText(`Answer 400: the other side says ${CODE}`).waitFor()
    await page.getByLabel('Body').getByText(HOSTILE.slice(0, 20).trim()).waitFor()
    await checkLooks(page)
    await takePicture(page, 'delivery')

    await page.getByRole('button', { name: 'Replay' }).click()
    await page.getByText('Answer 202').waitFor()
    await page.getByText('Delivered', { exact: true }).first().waitFor()
    await page.getByRole('button', { name: 'Replay' }).waitFor({ state: 'detached' })
    assert.equal(new Set(solver.received.map(({ headers }) => headers['x-request-id'])).size, 1)
    await page.goto(`${world.origin}/console/challenges/deliveries?status=delivered`)
    await page.getByRole('row', { name: /doomed.*Delivered/ }).waitFor()
    return undefined
  })

  test('all dead letters since a time are replayed, with the count first; at phone width', async (t) => {
    const world = await openBothSides(t)
    if (world === null) return t.skip(NO_BROWSER)
    const client = await clientOf(world, 'admin')
    const solver = await startReceiver(t, [400, 400, 400, 202, 202])
    for (const id of ['old', 'new', 'newer']) {
      await client.challenges.create(hostile(id))
      await client.challenges.send(id, { solver_url: solver.url })
    }
    await until('all are dead', async () => (await client.deliveries.list()).length === 3)
    await world.database.query(OLD)
    const page = await world.visit({ as: 'admin', path: '/console/challenges/deliveries', width: 'phone' })
    await page.getByRole('row', { name: /newer/ }).waitFor()
    await checkLooks(page)

    await page.getByRole('button', { name: 'Replay all' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Replay 3 dead letters?').waitFor()
    await dialog.getByLabel('Queued since').fill('2026-01-01T00:00')
    await dialog.getByText('Replay 2 dead letters?').waitFor()
    await checkLooks(page)
    await dialog.getByRole('button', { name: 'Replay 2 dead letters' }).click()
    await page.getByText('Replayed 2 dead letters').waitFor()
    await until('they arrived', async () => (await client.deliveries.list({ status: 'delivered' })).length === 2)
    assert.deepEqual(
      (await client.deliveries.list()).map(({ subject }) => subject),
      ['old'],
    )
    return undefined
  })

  test('a connection that fails is named by its error', async (t) => {
    const world = await openBothSides(t)
    if (world === null) return t.skip(NO_BROWSER)
    const nobody = `http://127.0.0.1:${await freePort()}`
    const client = await clientOf(world, 'admin')
    await client.challenges.create(hostile('lost'))
    const page = await world.visit({ as: 'admin', path: '/console/challenges/lost' })
    await send(page, nobody)
    await page.getByText('No answer: the connection failed, ECONNREFUSED').first().waitFor()
    return undefined
  })

  test('a job that waits for a person at the desk leads to the task, and the task back to it', async (t) => {
    const world = await openBothSides(t, 'challenge,desk')
    if (world === null) return t.skip(NO_BROWSER)
    const client = await clientOf(world, 'admin')
    const problem = { type: 'captcha', question: 'Which word?' }
    await client.challenges.create({ ...hostile('seen'), problem, answer: 'x' })
    await client.challenges.send('seen')
    const jobOf = async (kind: string) => (await client.jobs.list({ kind })).jobs[0]?.job_id ?? ''
    await until('it waits for a person', async () => (await jobOf('desk')) !== '')
    const page = await world.visit({ as: 'admin', path: `/console/jobs/${await jobOf('solve')}` })
    await page.getByRole('region', { name: 'Waits for' }).getByRole('link', { name: 'desk' }).click()
    const dependents = page.getByRole('region', { name: 'Dependents' })
    await dependents.getByText('Waiting', { exact: true }).waitFor()
    await checkLooks(page)

    await page.reload()
    await dependents.getByText('Waiting', { exact: true }).waitFor()
    world.network.partition()
    await page.getByText('reconnecting…').waitFor()
    await client.jobs.cancel(await jobOf('desk'))
    world.network.heal()
    await dependents.getByText('Done', { exact: true }).waitFor()
    await dependents.getByRole('link', { name: 'solve' }).click()
    await page.getByRole('region', { name: 'Sent' }).getByText('Delivered', { exact: true }).waitFor()
    await checkLooks(page)
    return undefined
  })
})
