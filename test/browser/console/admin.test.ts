// Administration as an admin does it, and an account's own keys and logins.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { NO_BROWSER } from '../../support/browser.ts'
import { newAccount, PASSWORD } from '../../support/reeve.ts'
import {
  checkLooks,
  hostileUnlessPictured,
  isolated,
  openConsole,
  takePicture,
  visitConsole,
  WIDTHS,
} from './console.ts'

const HOSTILE = hostileUnlessPictured('<img src=x onerror=alert(1)> שלום', 'Reports at night')

const signIn = async (page: Page, name: string, password: string): Promise<void> => {
  await page.getByLabel('Name', { exact: true }).fill(name)
  await page.getByLabel('Password', { exact: true }).fill(password)
  await page.keyboard.press('Enter')
}

describe('administration in the console', () => {
  test('an account is created, given a role, signs in, gets a new password and is closed; the trail tells it', async (t) => {
    const world = await visitConsole(t)
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit({ as: 'admin', path: '/console/admin' })
    const accounts = page.getByRole('grid', { name: 'Accounts' })
    await accounts.getByText('admin', { exact: true }).waitFor()

    await page.getByRole('button', { name: 'New account' }).click()
    const form = page.getByRole('dialog', { name: 'New account' })
    await form.getByLabel('Name').fill('admin')
    await form.getByLabel('Password').fill('short')
    await form.getByRole('button', { name: 'Create the account' }).click()
    await form.getByText('Must be 8 to 1024 characters').waitFor()
    await form.getByRole('button', { name: 'Make one up' }).click()
    await form.getByRole('button', { name: 'Create the account' }).click()
    await form.getByRole('alert').getByText('Username already exists').waitFor()
    await form.getByLabel('Name').fill(HOSTILE)
    const password = await form.getByLabel('Password').inputValue()
    await checkLooks(page)
    await form.getByRole('button', { name: 'Create the account' }).click()
    await accounts.getByRole('row', { name: HOSTILE }).click()

    const opened = page.getByRole('dialog', { name: HOSTILE })
    await opened.getByLabel('Operator: works at the desk').check()
    await opened.getByRole('button', { name: 'Save the roles' }).click()
    await page.getByText('Player, Operator').waitFor()
    await checkLooks(page)

    const person = await world.visit()
    await signIn(person, HOSTILE, password)
    await person.getByRole('heading', { name: `Hello, ${isolated(HOSTILE)}` }).waitFor()
    await person.getByRole('navigation', { name: 'Pages', exact: true }).getByRole('link', { name: 'Desk' }).waitFor()
    assert.equal(await person.getByRole('link', { name: 'Admin' }).count(), 0)

    await opened.getByLabel('New password').fill('a newer password')
    await opened.getByRole('button', { name: 'Reset the password' }).click()
    await page
      .getByText(`${isolated(HOSTILE)} has a new password`)
      .first()
      .waitFor()
    await person.reload()
    await signIn(person, HOSTILE, 'a newer password')
    await person.getByRole('heading', { name: `Hello, ${isolated(HOSTILE)}` }).waitFor()

    await opened.getByRole('button', { name: 'Close the account…' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Close the account' }).click()
    await accounts.getByText('Closed').waitFor()
    await person.reload()
    await person.getByRole('heading', { name: 'Sign in' }).waitFor()
    await signIn(person, HOSTILE, 'a newer password')
    await person.getByRole('alert').getByText('Invalid credentials').waitFor()

    await accounts.getByRole('row', { name: HOSTILE }).click()
    await opened.getByRole('link', { name: 'Audit trail' }).click()
    const trail = page.getByRole('grid', { name: 'Audit trail' })
    await trail.getByText('Account closed').waitFor()
    for (const word of ['Account created', 'Roles changed', 'Password reset', 'Sign-in failed'])
      await trail.getByText(word).first().waitFor()
    assert.match(await trail.getByRole('row', { name: /Roles changed/ }).innerText(), /admin\s+Player, Operator/)
    await checkLooks(page)
    await takePicture(page, 'admin-audit')
    await page.getByRole('button', { name: 'Show all accounts' }).click()
    await page.waitForURL(/audit$/)
    assert.equal(await page.locator('img[src="x"]').count(), 0)
    return undefined
  })

  test('accounts are found by name, with the search in the URL; on a phone it fits', async (t) => {
    const world = await visitConsole(t)
    if (world === null) return t.skip(NO_BROWSER)
    for (const name of ['zoe', 'zara', 'bob', hostileUnlessPictured('w'.repeat(120), 'theo')])
      await newAccount(world.url, name, ['CLIENT'])
    const page = await world.visit({ as: 'admin', path: '/console/admin', width: 'laptop' })
    const accounts = page.getByRole('grid', { name: 'Accounts' })
    await accounts.getByText('bob').waitFor()
    await takePicture(page, 'admin-accounts')
    const [width, height] = WIDTHS.phone
    await page.setViewportSize({ width, height })
    await checkLooks(page)

    await page.getByLabel('Find accounts').fill('Z')
    await accounts.getByText('bob').waitFor({ state: 'detached' })
    await accounts.getByText('zara').waitFor()
    assert.match(page.url(), /name=Z/)
    await page.reload()
    await accounts.getByText('zoe').waitFor()
    await page.getByLabel('Find accounts').fill('nobody')
    await page.getByText('No account by that name').waitFor()
    await page.getByRole('link', { name: 'Audit trail' }).click()
    await page.getByRole('grid', { name: 'Audit trail' }).waitFor()
    await checkLooks(page)
    await page.getByRole('link', { name: 'Health' }).click()
    await page.getByText('Ready', { exact: true }).waitFor()
    await checkLooks(page)
    return undefined
  })

  test('health shows what works, the storage and the settings in force, secrets masked', async (t) => {
    const world = await openConsole(t, { env: { METRICS_TOKEN: 'unsayable-token' } })
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit({ as: 'admin', path: '/console/admin/health' })
    const checks = page.getByRole('list', { name: 'Checks' })
    await checks.getByText('Ready', { exact: true }).waitFor()
    await checks.getByText(/\d+ % free/).waitFor()
    assert.equal(await checks.getByText('Works').count(), 3)
    await page.getByText('METRICS_TOKEN', { exact: true }).waitFor()
    await page.getByLabel('Find a setting').fill('captcha_')
    await page.getByText('CAPTCHA_SESSION_KEY_PREFIX').waitFor()
    await page.getByLabel('Find a setting').fill('')
    await page.getByLabel('With defaults').check()
    await page.getByText('JOB_LEASE_SEC', { exact: true }).waitFor()
    assert.doesNotMatch(await page.locator('main').innerText(), /unsayable/)
    await checkLooks(page)
    await takePicture(page, 'admin-health')
    return undefined
  })

  test('an account makes a key, sees it once, and revokes it; ends another login; changes its password', async (t) => {
    const world = await visitConsole(t)
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit({ as: 'cleo', roles: ['CLIENT'] })
    await page.getByRole('button', { name: 'Account cleo' }).click()
    await page.getByRole('menuitem', { name: 'Password, keys and logins' }).click()
    const keys = page.getByRole('region', { name: 'API keys' })
    await keys.getByText('None yet.').waitFor() // the front page says so of other things

    await page.getByRole('button', { name: 'New key' }).click()
    await page.getByLabel('What uses it').fill(HOSTILE)
    await page.getByLabel('Client', { exact: true }).check()
    await page.getByRole('button', { name: 'Create the key' }).click()
    const made = page.getByRole('dialog', { name: `The key ${isolated(HOSTILE)}` })
    const secret = await made.getByRole('button', { name: /^Copy API key/ }).innerText()
    await checkLooks(page)
    await made.getByRole('button', { name: 'I have copied it' }).click()
    await made.waitFor({ state: 'detached' })
    await keys.getByText('never used').waitFor()
    assert(!(await page.content()).includes(secret), 'it is shown once')
    const me = () => fetch(`${world.url}/auth/me`, { headers: { 'x-api-key': secret } })
    assert.equal((await me()).status, 200)
    await page.reload()
    await keys.getByText(/^last used/).waitFor()
    await checkLooks(page)
    await takePicture(page, 'account')
    await keys.getByRole('button', { name: `Revoke ${isolated(HOSTILE)}` }).click()
    await page.getByRole('button', { name: 'Revoke the key' }).click()
    await page.getByText('None yet.').waitFor()
    assert.equal((await me()).status, 401)

    const other = await world.visit({ as: 'cleo' })
    await page.reload()
    const logins = page.getByRole('region', { name: 'Logins' })
    await logins.getByText('This one').waitFor()
    await logins.getByRole('button', { name: 'End' }).first().click() // the newest
    await page.getByRole('button', { name: 'End the login' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await other.reload()
    await other.getByRole('heading', { name: 'Sign in' }).waitFor()

    await page.getByLabel('Current password').fill('a guess')
    await page.getByLabel('New password').fill('a newer password')
    await page.getByRole('button', { name: 'Change the password' }).click()
    await page.getByRole('alert').getByText('The current password is wrong').waitFor()
    await page.getByLabel('Current password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Change the password' }).click()
    await page.getByText('The password is changed').first().waitFor()
    await logins.getByRole('button', { name: 'End' }).waitFor({ state: 'detached' })
    await logins.getByText('This one').waitFor()
    assert.equal(await page.locator('img[src="x"]').count(), 0)
    return undefined
  })
})
