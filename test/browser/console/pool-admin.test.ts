// The story of an admin who bans a worker with a reason, lifts the ban, and adds and retires a canary.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReeveClient } from '@reeve/sdk'
import { NO_BROWSER } from '../../support/browser.ts'
import { newAccount } from '../../support/reeve.ts'
import { checkLooks, hostileUnlessPictured, isolated, openConsole, takePicture } from './console.ts'

const HOSTILE = hostileUnlessPictured('<img src=x onerror="throw 1"> ‮مرحبا', 'gpu-box-7')

/** Whether the letters of a word, which a page shows once in a sentence, run from left to right. */
const runsToTheRight = (word: string) => `(() => {
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let text = walker.nextNode(); text !== null; text = walker.nextNode()) {
    const at = text.data.indexOf(' ${word}') + 1
    if (at === 0) continue
    const leftOf = (index) => {
      const letter = document.createRange()
      letter.setStart(text, index)
      letter.setEnd(text, index + 1)
      return letter.getBoundingClientRect().left
    }
    return leftOf(at) < leftOf(at + ${word.length - 1})
  }
})()`

test('an admin sees every worker, bans one with a reason, and keeps canaries', async (t) => {
  const world = await openConsole(t, { doors: 'pool' })
  if (world === null) return t.skip(NO_BROWSER)
  const { token } = await newAccount(world.url, 'olga', ['WORKER_OWNER'])
  const owner = new ReeveClient({ url: world.url, token })
  await owner.pool.register({ name: HOSTILE, region: HOSTILE })
  const page = await world.visit({ as: 'admin', path: '/console/pool' })
  await page.getByRole('row', { name: HOSTILE }).getByText('olga').waitFor()
  await page.getByText('live', { exact: true }).waitFor()
  await checkLooks(page)
  await takePicture(page, 'pool-all-workers')
  await page.getByRole('row', { name: HOSTILE }).focus()
  await page.keyboard.press('Enter')

  await page.getByRole('button', { name: 'Ban', exact: true }).click()
  await page.getByLabel('Reason').fill(`wrong ${HOSTILE}`)
  await page.keyboard.press('Enter')
  await page
    .getByText(`${isolated(HOSTILE)} is banned`)
    .first()
    .waitFor()
  assert.equal(await page.evaluate(runsToTheRight('banned')), true, 'the name does not turn the sentence around')
  await page.getByRole('list', { name: 'History' }).getByText(`wrong ${HOSTILE}`).waitFor()
  await checkLooks(page)
  await takePicture(page, 'pool-standing')
  world.network.partition()
  await page.getByText('reconnecting…').waitFor()
  await new ReeveClient({
    url: world.url,
    token: (await newAccount(world.url, 'eve', ['ADMIN'])).token,
  }).poolAdmin.unban(1)
  world.network.heal()
  await page.getByRole('button', { name: 'Ban', exact: true }).waitFor()
  await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'Pool' }).click()
  await page.getByRole('link', { name: 'Banned' }).click()
  await page.getByText('No banned worker').waitFor()

  await page.getByRole('link', { name: 'Canaries' }).click()
  await page.getByText('No canaries').waitFor()
  await page.getByRole('button', { name: 'New canary' }).click()
  await page.getByLabel('Payload').fill(JSON.stringify({ ask: HOSTILE }))
  await page.getByLabel('Output').fill('[1]')
  await page.getByRole('button', { name: 'Add' }).click()
  await page.getByRole('alert').getByText('The output is a JSON object').waitFor()
  await page.getByLabel('Output').fill('{"answer":1}')
  await page.getByRole('button', { name: 'Add' }).click()
  await page.getByRole('row', { name: /ask/ }).waitFor()
  await takePicture(page, 'pool-canaries')
  await page.setViewportSize({ width: 390, height: 844 })
  await checkLooks(page)
  await page.getByRole('row', { name: /ask/ }).click()
  await page.getByRole('button', { name: 'Retire…' }).click()
  await page.getByRole('button', { name: 'Retire the canary' }).click()
  await page.getByText('No canaries').waitFor()
  return undefined
})
