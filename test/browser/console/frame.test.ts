// The frame of the console: signing in and out, what an account sees, the connection, the keyboard, hostile names.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ReeveClient } from '@reeve/sdk'
import { NO_BROWSER } from '../../support/browser.ts'
import { ADMIN, newAccount, PASSWORD, tokenOf } from '../../support/reeve.ts'
import { checkLooks, takePicture, visitConsole } from './console.ts'

const HOSTILE = '<img src=x onerror="throw 1"> ‮مرحبا'

describe('the console’s frame', () => {
  test('a person signs in, stays signed in over a reload, and signs out, which ends the sockets of every tab', async (t) => {
    const world = await visitConsole(t)
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit()
    await page.getByLabel('Name', { exact: true }).fill(ADMIN.username)
    await page.getByLabel('Password', { exact: true }).fill('wrong password')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('alert').getByText('Invalid credentials').waitFor()

    await page.getByLabel('Password', { exact: true }).fill(ADMIN.password)
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Hello, admin' }).waitFor()
    await page.reload()
    await page.getByRole('heading', { name: 'Hello, admin' }).waitFor()
    assert.equal(await page.evaluate('document.cookie'), '', 'scripts cannot read the session')

    const tab = await page.context().newPage()
    const opened = tab.waitForEvent('websocket')
    await tab.goto(world.origin)
    const socket = await opened
    await tab.getByText('live', { exact: true }).waitFor()
    const closed = socket.waitForEvent('close')
    await page.getByRole('button', { name: 'Account admin' }).click()
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await closed // by the server: this tab has done nothing
    return undefined
  })

  test('a newcomer registers and is signed in; a name that is taken is said so', async (t) => {
    const world = await visitConsole(t)
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit()
    await page.getByLabel('New name').fill(ADMIN.username)
    await page.getByLabel('New password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Create the account' }).click()
    await page.getByText('Username already exists').waitFor()
    await checkLooks(page)

    await page.getByLabel('New name').fill('newcomer')
    await page.getByRole('button', { name: 'Create the account' }).click()
    await page.getByRole('heading', { name: 'Hello, newcomer' }).waitFor()
    return undefined
  })

  test('a stranger reads a guide, and follows its link to a document', async (t) => {
    const world = await visitConsole(t)
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit({ path: '/console/docs' })

    await page.getByRole('link', { name: 'For teachers' }).waitFor()
    await takePicture(page, 'docs')
    await page.getByRole('link', { name: 'For teachers' }).click()
    await page.getByRole('heading', { name: 'For teachers' }).waitFor()
    await page.getByRole('main').locator('a[href*="/console/docs/judge#"]').first().click()

    await page.getByRole('heading', { name: 'Judge', exact: true, level: 1 }).waitFor()
    await checkLooks(page)
    return undefined
  })

  test('the front shows the own work of an account, as its roles allow, also after a reload and a lost connection', async (t) => {
    const world = await visitConsole(t)
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit({ as: 'olive', roles: ['CLIENT', 'CHALLENGER'], width: 'phone' })
    const work = page.getByRole('region', { name: 'Your work' })
    await work.getByRole('region', { name: 'Submissions' }).getByText('None yet').waitFor()
    await page.getByText('live', { exact: true }).waitFor()
    const { token } = await tokenOf(world.url, 'olive')
    const client = new ReeveClient({ url: world.url, token })
    await client.pool.submit({ payload: {} })
    await client.challenges.create({
      challenge_id: 'c1',
      problem: { type: 'text', operation: 'trim', text: HOSTILE },
      validation_rule: { type: 'ExactMatch' },
      answer: 'x',
    })
    const waiting = work.getByRole('region', { name: 'Jobs in the pool' }).getByText('Waiting')
    await waiting.waitFor() // by itself
    for (const title of ['Workers', 'Dead letters', 'Tasks that you hold'])
      assert.equal(await work.getByRole('region', { name: title }).count(), 0, title)
    await checkLooks(page)

    await page.reload()
    await waiting.waitFor()
    await page.getByText('live', { exact: true }).waitFor()
    world.network.partition()
    await page.getByText('reconnecting…').waitFor()
    await client.pool.submit({ payload: {} })
    world.network.heal()
    await waiting.nth(1).waitFor()
    await page.route('**/v1/jobs?*', (route) => route.abort())
    await client.pool.submit({ payload: {} })
    await work.getByText('Could not be loaded').waitFor()
    await page.unroute('**/v1/jobs?*')
    await waiting.nth(2).waitFor()
    await work.getByRole('link', { name: /Not sent.*<img/ }).click()
    await page.getByText('Not sent', { exact: true }).waitFor()
    return undefined
  })

  test('every width and both schemes: no violation, nothing wider than the window', async (t) => {
    const world = await visitConsole(t)
    if (world === null) return t.skip(NO_BROWSER)
    for (const width of ['desktop', 'laptop', 'phone'] as const) {
      const page = await world.visit({ as: 'admin', width })
      await page.getByRole('heading', { name: 'Hello, admin' }).waitFor()
      await page.getByRole('region', { name: 'Dead letters' }).getByText('None').waitFor()
      await checkLooks(page)
      if (width === 'desktop') await takePicture(page, 'front')
    }
    return undefined
  })

  test('with the keyboard alone: the palette goes to a page, ? lists the keys', async (t) => {
    const world = await visitConsole(t)
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit({ as: 'admin' })
    await page.getByRole('heading', { name: 'Hello, admin' }).waitFor()

    await page.keyboard.press('Shift+?')
    await page.getByRole('dialog', { name: 'Keys' }).getByText('Show the keys').waitFor()
    await page.keyboard.press('Escape')
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Go to' }).fill('doc')
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: /State machine/ }).click()
    await page.getByRole('heading', { name: 'State machine', level: 1 }).waitFor()
    await page.getByText('processing').first().waitFor()
    await checkLooks(page)
    return undefined
  })

  test('a hostile name is shown as text', async (t) => {
    const world = await visitConsole(t)
    if (world === null) return t.skip(NO_BROWSER)
    const name = '<img src=x onerror=alert(1)>'
    await newAccount(world.url, name, ['CLIENT'])
    const page = await world.visit()
    await page.getByLabel('Name', { exact: true }).fill(name)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.keyboard.press('Enter')

    await page.getByRole('heading', { name: `Hello, ${name}` }).waitFor()
    assert.equal(await page.locator('img[src="x"]').count(), 0)
    return undefined
  })

  test('an unknown address has a page of its own, and a missing file is not answered with it', async (t) => {
    const world = await visitConsole(t)
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit({ path: '/console/nowhere' })

    await page.getByText('There is nothing at this address').waitFor()
    const missing = await fetch(`${world.url}/console/assets/old-12345678.js`)
    assert.equal(missing.status, 404)
    return undefined
  })
})
