// The desk as those who lead it use it, and an operator's own history.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { NO_BROWSER } from '../../support/browser.ts'
import { newAccount, tokenOf } from '../../support/reeve.ts'
import { until } from '../../support/until.ts'
import { checkLooks, takePicture } from './console.ts'
import { openDesk } from './desk-world.ts'

describe('supervising the desk in the console', () => {
  test('who works on what is in sight; tasks are given to somebody and taken back; domains are kept', async (t) => {
    const world = await openDesk(t)
    if (world === null) return t.skip(NO_BROWSER)
    const [one, two] = [await world.create(), await world.create({ url: 'https://two.example/' })]
    const ann = world.clientOf((await newAccount(world.url, 'ann', ['OPERATOR'])).token)
    await ann.desk.claim(one.uuid, 'ann')
    const page = await world.visit({ as: 'admin', path: '/console/desk/supervise' })
    await page.getByRole('grid', { name: 'Open tasks' }).getByText('Claimed by ann').waitFor()
    await page.getByRole('table', { name: 'Operators' }).getByText('ann').waitFor()
    await takePicture(page, 'desk-supervise')
    await checkLooks(page)

    await page.reload()
    await page.getByRole('grid', { name: 'Open tasks' }).getByText('Claimed by ann').waitFor()
    world.network.partition()
    await page.getByText('reconnecting…').waitFor()
    await ann.desk.claim(two.uuid, 'ann')
    world.network.heal()
    await page.getByRole('grid', { name: 'Open tasks' }).getByText('Claimed by ann').nth(1).waitFor()
    await ann.desk.release(two.uuid)

    await page.getByLabel('Choose all rows that are loaded').check()
    await page.getByRole('button', { name: 'Give to…' }).click()
    await page.getByLabel('Operator', { exact: true }).fill('ann')
    await page.getByRole('button', { name: 'Give 2 tasks' }).click()
    await page.getByText('2 tasks given').waitFor()
    assert.equal((await world.taskOf(two.uuid)).assigned_to, 'ann')
    await page.getByLabel('Choose all rows that are loaded').check()
    await page.getByRole('button', { name: 'Take back into the queue' }).click()
    await page.getByRole('button', { name: 'Take back 2 tasks' }).click()
    await until('both wait again', async () => {
      const tasks = await Promise.all([one, two].map(({ uuid }) => world.taskOf(uuid)))
      return tasks.every((task) => task.assigned_to === null)
    })

    await page.getByRole('link', { name: 'Trail' }).click()
    await page.getByRole('grid', { name: 'Trail' }).getByText('Taken away').first().waitFor()
    await checkLooks(page)
    await takePicture(page, 'desk-trail')
    await page.setViewportSize({ width: 390, height: 844 })
    await checkLooks(page)
    await page.setViewportSize({ width: 1440, height: 900 })
    await page.goto(`${world.origin}/console/desk/domains`)
    await page.getByLabel('Domain', { exact: true }).fill('shop.org')
    await page.getByLabel('Why may it be automated?').fill('It is ours')
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByRole('grid', { name: 'Allowed domains' }).getByText('shop.org').waitFor()
    await checkLooks(page)
    await takePicture(page, 'desk-domains')
    return undefined
  })

  test('an operator sees what they did, and opens a task from it', async (t) => {
    const world = await openDesk(t)
    if (world === null) return t.skip(NO_BROWSER)
    const { uuid } = await world.create()
    await world.operator()
    const ann = world.clientOf((await tokenOf(world.url, 'ann')).token)
    await ann.desk.solve(uuid, { type: 'cookie', payload: [{ name: 'a', value: '1' }] })
    const page = await world.visit({ as: 'ann', roles: ['OPERATOR'], path: '/console/desk/history', width: 'phone' })

    await page.getByRole('grid', { name: 'What you have done' }).getByText('Solved').first().click()
    await page.getByText('It is solved. Whoever asked has the solution.').waitFor()
    assert(page.url().includes(`task=${uuid}`))
    await page.goBack()
    await page.getByRole('grid', { name: 'What you have done' }).waitFor()
    await checkLooks(page)
    await takePicture(page, 'desk-history')
    return undefined
  })
})
