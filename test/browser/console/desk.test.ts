// The desk as operators use it, for hundreds of tasks a day.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { NO_BROWSER } from '../../support/browser.ts'
import { atEnd } from '../../support/cleanup.ts'
import { until } from '../../support/until.ts'
import { checkLooks, holdAnswer, takePicture } from './console.ts'
import { cardOf, cookiesOf, live, openDesk } from './desk-world.ts'

describe('the desk in the console', () => {
  test('a task arrives live, is claimed with a click, looked at in the frame, and solved; the next one opens', async (t) => {
    const world = await openDesk(t)
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.operator()
    await page.getByText('Nothing waits').waitFor()
    await live(page)

    const first = await world.create({
      url: `http://${world.site.domain}/cart?x=1`,
      error_message: '403 Just a moment',
    })
    await cardOf(page, first.uuid).waitFor()
    await until('the tab counts it', async () => (await page.title()).startsWith('(1) Desk'))
    const second = await world.create({ url: 'https://two.example/' })
    await cardOf(page, first.uuid).click()
    await page.frameLocator('iframe').getByText('Are you a person?').waitFor()
    await page
      .getByRole('timer', { name: 'Your lock' })
      .getByText(/29 min|30 min/)
      .waitFor()
    await page.getByRole('button', { name: /Take the cookies of the page/ }).click()
    await until(
      'the cookie is there',
      async () => (await page.getByLabel('Name of cookie 1').inputValue()) === 'cf_clearance',
    )
    await takePicture(page, 'desk')
    await checkLooks(page)
    await page.getByRole('button', { name: /Solve and next/ }).click()

    await page.getByText('CAPTCHA solved successfully. Session cached for 900 seconds.').waitFor()
    await page.getByRole('heading', { name: 'two.example' }).waitFor()
    assert.deepEqual(cookiesOf(await world.taskOf(first.uuid)), { cf_clearance: 'from-the-page' })
    assert.equal((await world.taskOf(second.uuid)).assigned_to, 'ann')
    assert(page.url().endsWith(`task=${second.uuid}`), page.url())
    return undefined
  })

  test('with the keyboard alone: choose, claim, solve, give back, mark unsolvable', async (t) => {
    const world = await openDesk(t)
    if (world === null) return t.skip(NO_BROWSER)
    const tasks = []
    for (const name of ['one', 'two', 'three']) tasks.push(await world.create({ url: `https://${name}.example/` }))
    const [one, two, three] = tasks.map(({ uuid }) => uuid)
    const asked = await world.create({
      priority: 9,
      form: { question: 'Which word?', fields: [{ type: 'text', name: 'word', label: 'The word', max_length: 50 }] },
      url: undefined,
    })
    const page = await world.operator()
    await cardOf(page, asked.uuid).waitFor()
    await live(page)

    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByLabel('The word').waitFor()
    await page.getByLabel('The word').focus()
    await page.keyboard.type('deditur')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('heading', { name: 'one.example' }).waitFor()
    await page.keyboard.press('r')
    await page.getByText('You gave the task back').waitFor()
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await page.keyboard.press('Enter')
    await page.getByRole('timer', { name: 'Your lock' }).waitFor()
    await page.keyboard.press('u')
    await page.getByRole('dialog', { name: 'Why can it not be solved?' }).waitFor()
    await page.keyboard.press('1')
    await page.getByText(/Task marked unsolvable: page_down/).waitFor()
    await page.keyboard.press('Shift+?')
    await page.getByRole('dialog', { name: 'Keys' }).getByText('Solve, and open the next task').waitFor()

    await world.untilStatus(asked.uuid, 'solved')
    const statuses = async () =>
      (await Promise.all([one, two, three].map((uuid) => world.taskOf(uuid ?? '')))).map(({ status }) => status)
    await until('the next one is claimed', async () => (await statuses()).includes('in_progress'), statuses)
    const ended = await statuses()
    assert.equal(ended.filter((status) => status === 'unsolvable').length, 1)
    assert.equal(ended.filter((status) => status === 'in_progress').length, 1)
    return undefined
  })

  test('two people want one task: one has it, the other is told, and sees who', async (t) => {
    const world = await openDesk(t)
    if (world === null) return t.skip(NO_BROWSER)
    const { uuid } = await world.create()
    const [ann, bob] = [await world.operator(), await world.operator({ as: 'bob' })]
    await Promise.all([cardOf(ann, uuid).waitFor(), cardOf(bob, uuid).waitFor()])
    await Promise.all([live(ann), live(bob)])

    await Promise.all([cardOf(ann, uuid).click(), cardOf(bob, uuid).click()])
    await until('somebody has it', async () => (await world.taskOf(uuid)).assigned_to !== null)
    const holder = (await world.taskOf(uuid)).assigned_to
    const [winner, loser] = holder === 'ann' ? [ann, bob] : [bob, ann]
    await winner.getByRole('timer', { name: 'Your lock' }).waitFor()
    await loser.getByText('Somebody else was quicker').waitFor()
    await cardOf(loser, uuid).getByText(`Claimed by ${holder}`).waitFor()

    await world.admin.desk.release(uuid)
    await winner.getByRole('button', { name: 'Claim' }).waitFor()
    assert.equal(await winner.getByRole('timer', { name: 'Your lock' }).count(), 0)

    await loser.getByLabel('Search the tasks').fill('nothing-of-this')
    await cardOf(loser, uuid).waitFor({ state: 'detached' })
    const count = loser.getByRole('navigation').first().getByTitle('1 waiting')
    await count.waitFor()
    const answer = await holdAnswer(loser, '/captcha/tasks?')
    await loser.getByLabel('Search the tasks').fill('')
    await answer.written()
    await winner.getByRole('button', { name: 'Claim' }).click()
    await winner.getByRole('timer', { name: 'Your lock' }).waitFor()
    await count.waitFor({ state: 'detached' })
    await answer.release() // it is older than what the live connection has told
    await cardOf(loser, uuid).waitFor()
    assert.match((await cardOf(loser, uuid).textContent()) ?? '', new RegExp(`Claimed by ${holder}`))
    return undefined
  })

  test('a half-typed solution survives a reload, a look at another task and a lost connection', async (t) => {
    const world = await openDesk(t)
    if (world === null) return t.skip(NO_BROWSER)
    const [one, two] = [await world.create(), await world.create({ url: 'https://two.example/' })]
    const page = await world.operator()
    await cardOf(page, one.uuid).click()
    await page.getByLabel('Name of cookie 1').fill('half')
    await page.getByLabel('Value of cookie 1').fill('typed')

    // The form of the other task has such a field as well.
    const untilTyped = () =>
      until(
        'what was typed is there',
        async () => (await page.getByLabel('Value of cookie 1').inputValue()) === 'typed',
      )
    await page.reload()
    await untilTyped()
    await cardOf(page, two.uuid).click()
    await page.getByRole('heading', { name: 'two.example' }).waitFor()
    await cardOf(page, one.uuid).click()
    await untilTyped()

    world.network.partition()
    await page.getByText('○ reconnecting…').waitFor()
    await page.getByLabel('Name of cookie 1').fill('whole')
    const missed = await world.create({ url: 'https://missed.example/' })
    world.network.heal()
    await cardOf(page, missed.uuid).waitFor()
    // Connections that have died are found one by one: a request that gets no answer says so, and is sent again.
    const solve = page.getByRole('button', { name: /Solve and next/ })
    await until('it is solved', async () => {
      if ((await world.taskOf(one.uuid)).status === 'solved') return true
      if (await solve.isEnabled()) await page.keyboard.press('Control+Enter')
      return false
    })
    assert.deepEqual(cookiesOf(await world.taskOf(one.uuid)), { whole: 'typed' })
    return undefined
  })

  test('of 100 clicks under ten events a second none is lost, and no card moves', async (t) => {
    const world = await openDesk(t)
    if (world === null) return t.skip(NO_BROWSER)
    const tasks = []
    for (let index = 0; index < 5; index += 1) tasks.push(await world.create({ url: `https://t${index}.example/` }))
    const page = await world.operator({ as: 'lead', roles: ['ADMIN'] })
    await cardOf(page, tasks[4]?.uuid ?? '').waitFor()
    await live(page)
    const events: Promise<unknown>[] = []
    const timer = setInterval(() => {
      const n = events.length + 1
      events.push(world.create({ url: `https://e${n}.example/`, priority: 1 + (n % 10) }))
    }, 100)
    atEnd(t, () => clearInterval(timer))

    const boxes = await Promise.all(tasks.map(({ uuid }) => cardOf(page, uuid).boundingBox()))
    for (let click = 0; click < 100 || events.length < 10; click += 1) {
      const { uuid = '' } = tasks[click % 5] ?? {}
      const box = boxes[click % 5]
      assert(box !== null && box !== undefined)
      await page.mouse.click(box.x + 100, box.y + 40)
      await page.waitForURL((url) => url.searchParams.get('task') === uuid)
    }
    clearInterval(timer)
    await Promise.all(events)

    assert.deepEqual(await Promise.all(tasks.map(({ uuid }) => cardOf(page, uuid).boundingBox())), boxes)
    await page.getByRole('button', { name: /Show \d+ new tasks/ }).click()
    await until('the new ones are in their place', async () => (await page.getByText(/Urgent/).count()) > 0)
    return undefined
  })

  test('search words filter the list and stay in the address; thousands scroll', async (t) => {
    const world = await openDesk(t)
    if (world === null) return t.skip(NO_BROWSER)
    for (let index = 0; index < 120; index += 1)
      await world.create({ url: `https://d${index}.example/path-${index}`, priority: index === 119 ? 1 : 5 })
    const page = await world.operator()
    await page.getByLabel('Search the tasks').fill('path-77')
    await until('one is left', async () => (await page.locator('[data-uuid]').count()) === 1)
    assert(page.url().includes('q=path-77'))
    await page.reload()
    await until('still one', async () => (await page.locator('[data-uuid]').count()) === 1)
    await page.getByLabel('Search the tasks').fill('')
    await page.getByText('d0.example').waitFor()
    await until('the last is reached', async () => {
      await page.evaluate(`document.querySelector('ul[aria-label=Tasks]').scrollTo(0, 1e6)`)
      return page.getByText('d119.example').isVisible()
    })
    return undefined
  })

  test('every width and both schemes, with hostile text: no violation, nothing wider than the window', async (t) => {
    const world = await openDesk(t)
    if (world === null) return t.skip(NO_BROWSER)
    const script = `<img src=x onerror="alert(1)">${'long '.repeat(60)} עברית`
    const { uuid } = await world.create({ error_message: script, request_id: script.slice(0, 200), priority: 9 })
    await world.create({ url: `https://shop.example/${encodeURIComponent(script)}`, user_agent: 'Agent/2' })
    for (const width of ['desktop', 'laptop', 'phone'] as const) {
      const page = await world.operator({ width })
      await cardOf(page, uuid).waitFor()
      await checkLooks(page)
      await cardOf(page, uuid).click()
      await page.getByRole('timer', { name: 'Your lock' }).waitFor()
      await checkLooks(page)
      await takePicture(page, `desk-${width}`)
      assert.equal(await page.locator('img[src="x"]').count(), 0)
      if (width !== 'phone') continue
      assert.equal(await page.getByRole('list', { name: 'Tasks' }).isVisible(), false)
      await page.getByRole('button', { name: 'Close the task' }).click()
      await page.getByRole('list', { name: 'Tasks' }).waitFor()
    }
    return undefined
  })
})
