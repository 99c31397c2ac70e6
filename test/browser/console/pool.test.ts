// The story of an owner who registers a worker with a key made in the browser, and of a client whose job it does.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test, type TestContext } from 'node:test'
import { ReeveClient } from '@reeve/sdk'
import { generateKey, parsePrivateKey, runWorker, type PrivateKey } from '@reeve/sdk/pool'
import type { Page } from 'playwright-core'
import { NO_BROWSER } from '../../support/browser.ts'
import { atEnd } from '../../support/cleanup.ts'
import { tokenOf } from '../../support/reeve.ts'
import { checkLooks, hostileUnlessPictured, openConsole, takePicture, type ConsoleWorld } from './console.ts'

const OWNER = { as: 'olga', roles: ['WORKER_OWNER'], path: '/console/pool' }
const CLIENT = { as: 'carl', roles: ['CLIENT'], path: '/console/pool/jobs' }
const PATIENCE_MS = 120_000
const HOSTILE = hostileUnlessPictured('<img src=x onerror="throw 1"> ‮مرحبا', 'forty-two')

const clientOf = async (world: ConsoleWorld, name: string) =>
  new ReeveClient({ url: world.url, token: (await tokenOf(world.url, name)).token })

/** A worker of the SDK, until the test ends. */
async function work(t: TestContext, world: ConsoleWorld, workerId: number, key: PrivateKey): Promise<void> {
  const ended = new AbortController()
  const running = runWorker({
    client: await clientOf(world, 'olga'),
    workerId,
    key,
    waitSec: 1,
    signal: ended.signal,
    abandon: ended.signal,
    handler: async (_, { text }) => ({ outputText: `{"answer":${JSON.stringify(HOSTILE)},"got":${text}}` }),
  })
  atEnd(t, async () => {
    ended.abort()
    await running
  })
}

async function registerWorker(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name: 'Register a worker' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill(name)
  await dialog.getByLabel('Public key').waitFor()
  await dialog.getByRole('button', { name: 'Register' }).click()
}

async function submitJob(page: Page, payload: string): Promise<void> {
  await page.getByRole('button', { name: 'Submit a job' }).click()
  await page.getByLabel('Payload').fill(payload)
  await page.getByRole('dialog').getByRole('button', { name: 'Submit' }).click()
}

describe('the pages of the pool', () => {
  test('from a key made in the browser to a result with a receipt that is verified there', async (t) => {
    const world = await openConsole(t, { doors: 'pool' })
    if (world === null) return t.skip(NO_BROWSER)
    const owner = await world.visit(OWNER)
    const sent: string[] = []
    owner.on('request', (request) => sent.push(request.postData() ?? ''))
    await owner.getByText('No worker yet').waitFor()
    await checkLooks(owner)
    await registerWorker(owner, 'first')
    await owner.getByText('Registered as worker 1').waitFor()
    await checkLooks(owner)
    const downloading = owner.waitForEvent('download')
    await owner.getByRole('button', { name: 'Download worker-1.key' }).click()
    const key = parsePrivateKey(JSON.parse(await readFile(await (await downloading).path(), 'utf8')))
    await owner.getByRole('button', { name: 'Copy the key' }).click()
    await owner.getByText('The key is copied').waitFor()
    assert.deepEqual(JSON.parse(String(await owner.evaluate('navigator.clipboard.readText()'))), key)
    await owner.getByRole('button', { name: 'Done' }).click()
    await owner.getByRole('row', { name: /first.*Offline.*Trusted.*0\.5/ }).waitFor()

    const client = await world.visit(CLIENT)
    await client.getByText('No jobs yet').waitFor()
    await checkLooks(client)
    await submitJob(client, '[1')
    await client.getByText(/The payload is not JSON/).waitFor()
    await client.getByRole('button', { name: 'Close' }).click()
    await submitJob(client, '{"size": 12345678901234567890}')
    await client.getByText('1 worker registered, 0 online.').waitFor()
    await client.getByText('Waiting', { exact: true }).waitFor()
    await checkLooks(client)
    await takePicture(client, 'pool-why')

    await work(t, world, 1, key)
    await owner.getByRole('row', { name: /first.*Online/ }).waitFor()
    await client.getByText('Done', { exact: true }).waitFor()
    await client.getByText(HOSTILE).waitFor()
    await client.getByText('12345678901234567890', { exact: true }).waitFor() // as the worker got it, not rounded
    await client.getByText('Verified', { exact: true }).waitFor()
    await checkLooks(client)
    await client.getByText('Receipt 1', { exact: true }).first().click()
    await takePicture(client, 'pool-job')
    const admin = await world.visit({ as: 'admin', path: new URL(client.url()).pathname.replace('/pool', '') })
    await admin.getByRole('region', { name: 'Receipts' }).getByText('Verified', { exact: true }).waitFor()
    await checkLooks(admin)
    await takePicture(admin, 'job-receipt')
    await client.getByRole('link', { name: 'Pool jobs' }).first().click()
    await client.getByRole('row', { name: /Done/ }).waitFor()
    await takePicture(client, 'pool-jobs')

    await owner.getByRole('row', { name: /first.*Online/ }).waitFor()
    await checkLooks(owner)
    await takePicture(owner, 'pool-workers')
    assert.equal(sent.filter((body) => body.includes(key.x)).length, 1, 'the public half is sent once')
    assert(!sent.some((body) => body.includes(key.d)), 'the private half is never sent')
    return undefined
  })

  test('an owner renames, pauses, gives a new key and removes; what strangers wrote is text', async (t) => {
    const world = await openConsole(t, { doors: 'pool' })
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit(OWNER)
    await registerWorker(page, HOSTILE)
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByRole('row', { name: HOSTILE }).click()
    await page.getByRole('heading', { name: HOSTILE }).waitFor()
    await page.getByText('Trusted').waitFor()
    await checkLooks(page)

    await page.getByRole('button', { name: 'Pause' }).click()
    await page.getByText('Paused', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Resume' }).click()
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    await page.getByRole('button', { name: 'Rename' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('second')
    await page.getByRole('dialog').getByRole('button', { name: 'Rename' }).click()
    await page.getByRole('heading', { name: 'second' }).waitFor()

    const { x } = generateKey()
    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByRole('textbox', { name: 'Public key' }).fill('not a key')
    await page.getByRole('button', { name: 'Replace the key' }).click()
    await page.getByText('A public key is base64url').waitFor()
    await page.getByRole('textbox', { name: 'Public key' }).fill(x)
    await page.getByRole('button', { name: 'Replace the key' }).click()
    await page.getByText('The key is replaced').waitFor()
    assert.equal(await page.getByRole('button', { name: /Download/ }).count(), 0, 'its owner has it')
    await page.getByRole('button', { name: 'Done' }).click()
    await page.getByText(x).waitFor()

    await page.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('button', { name: 'Remove the worker' }).click()
    await page.getByText('No worker yet').waitFor()
    assert.deepEqual(await (await clientOf(world, 'olga')).pool.workers(), [])
    return undefined
  })

  test('without Ed25519 in the browser a public key is pasted', async (t) => {
    const world = await openConsole(t, { doors: 'pool' })
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit(OWNER)
    await page.addInitScript(`crypto.subtle.generateKey = async () => { throw new Error('NotSupportedError') }`)
    await page.reload()
    await page.getByRole('button', { name: 'Register a worker' }).click()
    await page.getByText('This browser makes no Ed25519 keys.').waitFor()
    const { x } = generateKey()
    await page.getByLabel('Name').fill('pasted')
    await page.getByLabel('Public key').fill(x)
    await page.getByRole('dialog').getByRole('button', { name: 'Register' }).click()
    await page.getByText('Registered as worker 1').waitFor()
    const [worker] = await (await clientOf(world, 'olga')).pool.workers()
    assert.equal(worker?.public_key, x)
    return undefined
  })

  test('at phone width: a list that follows programs, also after the connection was lost; cancel', async (t) => {
    const world = await openConsole(t, { doors: 'pool' })
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit({ ...CLIENT, width: 'phone' })
    await page.getByText('No jobs yet').waitFor()
    const client = await clientOf(world, 'carl')
    const submit = () =>
      client.pool.submit({ payload: {}, replicas: 3, requirements: { region: HOSTILE.slice(0, 40) } })
    await submit()
    const rows = page.getByRole('row', { name: /Waiting/ })
    await rows.first().waitFor()
    world.network.partition()
    await page.getByText(/^As of \d{4}-/).waitFor()
    await submit()
    world.network.heal()
    await page.getByText('live', { exact: true }).waitFor()
    // Connections that have died are found one by one: a request that gets no answer is sent again.
    await rows.nth(1).waitFor({ timeout: PATIENCE_MS })
    await checkLooks(page)

    await rows.first().getByRole('link').click()
    await page.getByText('2 of 3 must agree').waitFor()
    await page.getByText('No worker is registered.').waitFor()
    await checkLooks(page)
    await takePicture(page, 'pool-job-phone')
    await page.reload()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Cancel the job' }).click()
    await page.getByText('Cancelled', { exact: true }).waitFor()
    await page.goto(`${world.origin}/console/pool`)
    await page.getByText(/This page is for/).waitFor()
    return undefined
  })
})
