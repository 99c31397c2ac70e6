// The story of a teacher who imports a class: a pupil sets a password by the link, and an account is deleted.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_BROWSER } from '../../support/browser.ts'
import { until } from '../../support/until.ts'
import { checkLooks, hostileUnlessPictured, isolated, openConsole, takePicture } from './console.ts'

const HOSTILE = hostileUnlessPictured('<img src=x onerror=alert(1)> שלום', 'Ada Park')

test('accounts are imported, a link sets a password once, and an account is deleted', async (t) => {
  const world = await openConsole(t, { doors: 'arena' })
  if (world === null) return t.skip(NO_BROWSER)
  const page = await world.visit({ as: 'admin', path: '/console/admin' })
  await page.getByRole('button', { name: 'Import' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('List').fill(`username,password,roles\n"${HOSTILE}",,OPERATOR\nadmin,,\nbob,short,`)
  await checkLooks(page)
  await dialog.getByRole('button', { name: 'Import', exact: true }).click()
  await dialog.getByText('1 account created.').waitFor()
  for (const word of ['Created', 'There already', 'Refused']) await dialog.getByText(word, { exact: true }).waitFor()
  await checkLooks(page)
  await takePicture(page, 'admin-import')
  await dialog.getByRole('button', { name: /Copy link of/ }).click()
  const copied = async () => String(await page.evaluate('navigator.clipboard.readText()'))
  await until('the link is copied', async () => (await copied()).startsWith('http'), copied)
  const link = await copied()
  await dialog.getByRole('button', { name: 'Done' }).click()

  const person = await world.visit({ path: new URL(link).pathname + new URL(link).hash })
  await person.getByLabel('New password').fill('a good password')
  await checkLooks(person)
  await takePicture(person, 'password-link')
  await person.keyboard.press('Enter')
  await person.getByRole('heading', { name: `Hello, ${isolated(HOSTILE)}` }).waitFor()
  const other = await world.visit({ path: new URL(link).pathname + new URL(link).hash })
  await other.getByLabel('New password').fill('another password')
  await other.keyboard.press('Enter')
  await other.getByRole('alert').waitFor()

  await page.getByRole('row', { name: HOSTILE }).click()
  const opened = page.getByRole('dialog', { name: HOSTILE })
  await opened.getByRole('button', { name: 'Make a link' }).click()
  await opened.getByText('It works once').waitFor()
  await opened.getByRole('button', { name: 'Delete…' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete the account' }).click()
  await page.getByRole('row', { name: HOSTILE }).waitFor({ state: 'detached' })
  await person.reload()
  await person.getByRole('heading', { name: 'Sign in' }).waitFor()
  assert.equal(await page.getByRole('row', { name: 'admin' }).count(), 1)
  return undefined
})
