// The operator's page in a real browser: a person works with it from the sign-in to the solution.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import type http from 'node:http'
import { createRequire } from 'node:module'
import { describe, test, type TestContext } from 'node:test'
import type { Page } from 'playwright-core'
import { PNG, staffed } from '../contract/desk/setup.ts'
import { NO_BROWSER } from '../support/browser.ts'
import { until } from '../support/until.ts'
import { claim, CONSOLE, openDeskPage, taskFrame } from './desk-page.ts'

const TASKS = '/api/v1/captcha/tasks'
const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')

const shop: http.RequestListener = (_request, response) =>
  response
    .setHeader('content-type', 'text/html')
    .setHeader('set-cookie', 'cf_clearance=passed-77b2; Path=/')
    .end('<!doctype html><title>Shop</title><h1>Are you a person?</h1>')

const setup = (t: TestContext) => openDeskPage(t, shop)

/** What is wrong with the page for people who do not see it as others do. */
async function violations(page: Page): Promise<string[]> {
  await page.evaluate(await readFile(AXE, 'utf8'))
  const found = await page.evaluate(`axe.run({ iframes: false }).then(({ violations }) =>
    violations.map(({ id, impact, nodes }) => impact + ' ' + id + ': ' + nodes.map(({ html }) => html).join(' ')))`)
  assert(Array.isArray(found))
  return found.map(String).filter((line) => /^(serious|critical) /.test(line))
}

const noticeOf = (page: Page) => page.locator('#notices p')

describe('the operator’s page', () => {
  test('from the sign-in to the session: a task arrives live, is claimed, looked at and solved', async (t) => {
    const world = await setup(t)
    if (world === null) return t.skip(NO_BROWSER)
    const { context, signIn, create, scraper, site } = world
    const page = await context.newPage()
    await signIn(page)
    await page.getByText('Nothing waits.').waitFor()
    await page.getByText('live', { exact: true }).waitFor()

    const { uuid } = await create({ url: `http://${site.domain}/`, challenge_type: 'cloudflare' })
    await scraper.put(`${TASKS}/${uuid}/preview`, PNG, 'image/png')
    const waiting = scraper.get(`${TASKS}/${uuid}`, { prefer: 'wait=40' })
    await claim(page, uuid) // it came by itself: the page was not loaded again
    const frame = await taskFrame(page)
    await frame.waitForSelector('text=Are you a person?')
    const preview = await page.getByAltText('The screenshot that came with the task').boundingBox()
    const shown = await page.locator('iframe').boundingBox()
    await page.getByRole('button', { name: 'Look at the page’s cookies' }).click()
    await page.getByRole('button', { name: 'Take these' }).click()
    await page.getByRole('button', { name: 'Solve', exact: true }).click()
    const { body: solved } = await waiting
    const { body: session } = await scraper.get(`/api/v1/captcha/sessions/${encodeURIComponent(site.domain)}`)

    assert(preview !== null && shown !== null)
    assert(preview.y < shown.y + shown.height && shown.y < preview.y + preview.height, 'beside each other')
    assert(preview.x + preview.width <= shown.x && preview.width > 100 && shown.width > 300)
    assert.equal(solved.status, 'solved')
    assert.deepEqual([session.has_session, session.session.cf_clearance], [true, 'passed-77b2'])
    assert.match(
      (await noticeOf(page).textContent()) ?? '',
      /^CAPTCHA solved successfully\. Session cached for 900 seconds\.$/,
    )
    await page.getByText('Nothing waits.').waitFor()
    return undefined
  })

  test('a question is answered with its form, by the keyboard alone', async (t) => {
    const world = await setup(t)
    if (world === null) return t.skip(NO_BROWSER)
    const { work, scraper } = world
    const fields = [
      { type: 'image', name: 'picture', image: PNG.toString('base64') },
      { type: 'choice', name: 'animal', options: ['cat', 'dog'] },
      { type: 'choice', name: 'colours', options: ['red', 'green', 'blue'], multiple: true },
      { type: 'text', name: 'count', label: 'How many?', max_length: 3, digits_only: true },
    ]
    const { page, uuid } = await work({
      url: undefined,
      challenge_type: 'label',
      form: { question: 'What is it?', fields },
    })
    await until('the picture is there', async () => {
      const width = await page.evaluate(`document.querySelector('#task img[alt=picture]').naturalWidth`)
      return width === 1
    })

    await page.getByLabel('cat').focus()
    for (const key of ['ArrowDown', 'Tab', 'Space', 'Tab', 'Tab', 'Space', 'Tab', '4', '2', 'Enter'])
      await page.keyboard.press(key)
    await page.getByText('CAPTCHA solved successfully.').waitFor()

    const { body } = await scraper.get(`${TASKS}/${uuid}`)
    assert.deepEqual(body.solver_result.payload, { animal: 'dog', colours: ['red', 'blue'], count: '42' })
    assert.equal(await page.locator('iframe').count(), 0)
    return undefined
  })

  test('a lock is renewed and given back, and whoever has lost the task is told', async (t) => {
    const world = await setup(t)
    if (world === null) return t.skip(NO_BROWSER)
    const { work, assign, admin, operator, other } = world
    const { page, uuid } = await work({ url: 'https://shop.example/' })
    const statusOf = async () => (await operator.get(`${TASKS}/${uuid}`)).body.status

    const first = (await operator.get(`${TASKS}/${uuid}`)).body.locked_until
    await page.getByRole('button', { name: 'Renew the lock' }).click()
    await page.getByText('The lock is renewed.').waitFor()
    const second = (await operator.get(`${TASKS}/${uuid}`)).body.locked_until
    await page.getByRole('button', { name: 'Give it back' }).click()
    await page.getByText('You gave the task back.').waitFor()
    const released = await statusOf()
    await claim(page, uuid)
    await page.reload()
    await page.getByRole('button', { name: /^Open: / }).click() // still mine, and the sign-in as well
    await page.locator('#task dl').waitFor()
    await admin.post(`${TASKS}/${uuid}/release`)
    await page.getByText('The task is not yours any more: it is pending.').waitFor()
    await assign(uuid, other)
    await page.locator('#tasks .empty').waitFor()

    assert(second > first)
    assert.equal(released, 'pending')
    assert.equal(await page.locator('iframe').count(), 0)
    return undefined
  })

  test('it says what went wrong: password, role, a task that somebody else has, a wrong solution, a lost sign-in', async (t) => {
    const world = await setup(t)
    if (world === null) return t.skip(NO_BROWSER)
    const { context, signIn, create, assign, other, operator, console } = world
    const page = await context.newPage()
    const said = async (text: string) => noticeOf(page).filter({ hasText: text }).waitFor()
    const storage = () => page.evaluate('JSON.stringify(Object.values(sessionStorage))')

    await signIn(page, 'ann', 'wrong')
    await said('Invalid credentials')
    await signIn(page, 'sid')
    await said('sid may not work here: the account does not have the role OPERATOR.')
    assert.equal(await storage(), '[]')
    await signIn(page)
    const { uuid } = await create()
    const button = page.locator(`#tasks button[data-uuid="${uuid}"]`)
    await button.waitFor()
    await page.route('**/tasks/pending?*', () => {}) // what is listed may be old
    await assign(uuid, other)
    await button.click()
    await said('Task is locked by another operator: bob, until ')
    await page.unroute('**/tasks/pending?*') // what was held back goes on
    await other.post(`${TASKS}/${uuid}/release`)
    await claim(page, uuid)
    await page.getByLabel(/^One name=value/).fill('no cookie at all')
    await page.getByRole('button', { name: 'Solve', exact: true }).click()
    await said('“no cookie at all” is not name=value.')
    await page.getByLabel(/^One name=value/).fill('bad name=1')
    await page.getByRole('button', { name: 'Solve', exact: true }).click()
    await said('payload')
    await page.getByLabel('Why').fill('It shows nothing.')
    await page.getByRole('button', { name: 'Nobody can solve it' }).click()
    await said('Task marked unsolvable: ')
    const { body } = await operator.get(`${TASKS}/${uuid}`)
    assert.deepEqual([body.status, body.last_error], ['unsolvable', 'It shows nothing.'])
    await create({ url: 'https://two.example/' })
    await page.getByRole('button', { name: /^Claim: / }).waitFor()
    const token = String(await page.evaluate('Object.values(sessionStorage)[0]'))
    await fetch(`${console}/auth/logout`, { method: 'POST', headers: { authorization: `Bearer ${token}` } })
    await page.getByRole('button', { name: /^Claim: / }).click()
    await said('You are not signed in any more: sign in again.')
    await page.getByLabel('Password').waitFor()
    assert.equal(await storage(), '[]')
    return undefined
  })

  test('signing out ends the token, and a connection that breaks is made again', async (t) => {
    const world = await setup(t)
    if (world === null) return t.skip(NO_BROWSER)
    const { context, signIn, create, console } = world
    const page = await context.newPage()
    const sockets: { close(): Promise<void> }[] = []
    await page.routeWebSocket('**/ws/captcha', (socket) => {
      socket.connectToServer()
      sockets.push(socket)
    })
    await signIn(page)
    await page.getByText('live', { exact: true }).waitFor()

    await sockets[0]?.close()
    await until('it is made again', () => sockets.length === 2)
    await page.getByText('live', { exact: true }).waitFor()
    const { uuid } = await create()
    await page.locator(`#tasks button[data-uuid="${uuid}"]`).waitFor()
    const token = String(await page.evaluate('Object.values(sessionStorage)[0]'))
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByText('You are signed out.').waitFor()

    const { status } = await fetch(`${console}/auth/me`, { headers: { authorization: `Bearer ${token}` } })
    assert.equal(status, 401)
    assert.deepEqual(await context.cookies(), [])
    return undefined
  })

  test('everybody can use it: no serious fault of accessibility, signed out or with a task, and it fits a phone', async (t) => {
    const world = await setup(t)
    if (world === null) return t.skip(NO_BROWSER)
    const { work, scraper, console, context, site } = world
    const fits = (page: Page) => page.evaluate('document.documentElement.scrollWidth <= innerWidth')
    const entrance = await context.newPage()
    await entrance.goto(console + CONSOLE)
    await entrance.getByLabel('Password').waitFor()
    const { page, uuid } = await work({ url: `http://${site.domain}/`, metadata: { order: 'x'.repeat(300) } })
    await (await taskFrame(page)).waitForSelector('h1')
    await scraper.put(`${TASKS}/${uuid}/preview`, PNG, 'image/png')
    await page.getByRole('button', { name: /^Open: / }).click()
    await page.getByAltText('The screenshot that came with the task').waitFor()
    await page.getByRole('button', { name: 'Look at the page’s cookies' }).click()
    await page.getByRole('button', { name: 'Take these' }).waitFor()

    for (const colorScheme of ['light', 'dark'] as const) {
      for (const each of [entrance, page]) {
        await each.emulateMedia({ colorScheme })
        assert.deepEqual(await violations(each), [])
      }
    }
    for (const width of [1280, 400]) {
      await page.setViewportSize({ width, height: 900 })
      assert.equal(await fits(page), true, `${width}`)
    }
    return undefined
  })
})

test('the operator’s page is there for browsers only as itself: strict policy, and not at the frame’s host', async (t) => {
  const { url } = await staffed(t)
  const { port } = new URL(url)
  const page = await fetch(url + CONSOLE)
  const policy = page.headers.get('content-security-policy') ?? ''
  const text = await page.text()
  const start = await (await fetch(url)).text()
  const { request } = await import('node:http')
  const atFrame = await new Promise((resolve, reject) => {
    const headers = { host: `frame.localhost:${port}` }
    request({ port, path: CONSOLE, headers }, (response) => resolve(response.resume().statusCode))
      .on('error', reject)
      .end()
  })

  assert.equal(page.status, 200)
  for (const rule of [`default-src 'none'`, `script-src 'self'`, `frame-ancestors 'none'`, `form-action 'none'`])
    assert(policy.includes(rule), policy)
  assert(policy.includes(`frame-src http://frame.localhost:${port};`), policy)
  assert(!/unsafe|\*/.test(policy), policy)
  assert(!/<script(?![^>]* src=)|\son\w+=|style=/i.test(text))
  assert(start.includes(`<a href="${CONSOLE}">`))
  assert.equal(atFrame, 404)
})
