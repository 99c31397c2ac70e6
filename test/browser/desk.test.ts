// The solver frame on the operator's page in a real browser: a stranger's page inside ours, and nothing passes between them.
import assert from 'node:assert/strict'
import type http from 'node:http'
import { describe, test, type TestContext } from 'node:test'
import type { Frame, Page } from 'playwright-core'
import { ask, startSite } from '../contract/desk/site.ts'
import { NO_BROWSER } from '../support/browser.ts'
import { until } from '../support/until.ts'
import { claim, CONSOLE, frameOf, openDeskPage, taskFrame } from './desk-page.ts'

const TASKS = '/api/v1/captcha/tasks'
const CONSOLE_COOKIE = 'console-secret-1f3a'
const PAGE_COOKIE = 'page-secret-77b2'

// What a hostile page would try. Each attempt leaves what came of it in `window.tried`.
const HOSTILE = (console: string) => `<!doctype html><title>Shop</title><h1>Shop</h1>
<img id="picture" src="/picture.png"><a id="next" href="/next">next</a>
<form id="form" action="/form" method="post"><input name="field" value="typed"><button>go</button></form>
<iframe src="/inner"></iframe>
<script type="module" src="/module.mjs"></script>
<script>
window.tried = {}
const attempt = async (name, work) => {
  try { window.tried[name] = 'yes: ' + String(await work()) } catch (error) { window.tried[name] = 'no: ' + error.name }
}
window.done = (async () => {
  await attempt('read cookies', () => document.cookie)
  await attempt('write a cookie', () => { document.cookie = 'x=${PAGE_COOKIE}; path=/'; return 'written' })
  await attempt('storage', () => localStorage.setItem('x', '1'))
  await attempt('the console’s document', () => parent.document.title)
  await attempt('the console’s address', () => parent.location.href)
  await attempt('the console’s token', () => parent.sessionStorage.length)
  await attempt('the top’s token', () => top.sessionStorage.length)
  await attempt('the API of the console', async () => (await fetch('${console}${TASKS}', { credentials: 'include' })).status)
  await attempt('the API, blindly', async () => (await fetch('${console}${TASKS}', { credentials: 'include', mode: 'no-cors', method: 'POST', body: '{}' })).type)
  await attempt('the API at the frame’s host', async () => (await fetch(location.origin === 'null' ? new URL('${TASKS}', location.href) : '${TASKS}')).status)
  await attempt('a socket', () => new Promise((resolve, reject) => {
    const socket = new WebSocket('${console.replace('http', 'ws')}/ws/captcha')
    socket.onopen = () => resolve('open'); socket.onerror = () => reject(new Error('refused'))
  }))
  await attempt('a beacon', () => navigator.sendBeacon('${console}/auth/logout', 'x'))
  await attempt('leave the frame', () => { top.location = 'http://127.0.0.1:1/'; return 'left' })
  await attempt('a window', () => { if (window.open('${console}/') === null) throw new Error('none'); return 'opened' })
  return 'done'
})()
</script>`

/** Whatever a page can read about where it came from. */
const FIND_TICKET = `JSON.stringify([
  location.href, document.URL, document.baseURI, document.referrer, document.documentElement.outerHTML, window.name,
  performance.getEntries().map(({ name }) => name), (window.navigation?.entries() ?? []).map(({ url }) => url), history.state,
])`
const REQUEST = `(async () => {
  const xhr = await new Promise((resolve) => {
    const request = new XMLHttpRequest()
    request.onloadend = () => resolve(request.responseText || 'status ' + request.status)
    request.open('GET', 'file')
    request.send()
  })
  const json = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
  return {
    fetch: await (await fetch('file')).text(), post: await (await fetch('file', json)).text(), xhr,
  }
})()`

const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

async function setup(t: TestContext, lines?: string[]) {
  let console = ''
  const answer: http.RequestListener = (request, response) => {
    response.setHeader('set-cookie', `page=${PAGE_COOKIE}; Path=/`)
    if (request.url === '/picture.png') return response.setHeader('content-type', 'image/png').end(PNG)
    if (request.url === '/module.mjs')
      return response.setHeader('content-type', 'text/javascript').end('window.imported = "module"')
    if (request.url === '/file') {
      const text = request.method === 'POST' ? 'posted {}' : 'file'
      return response.setHeader('content-type', 'text/plain').end(text)
    }
    response.setHeader('content-type', 'text/html').setHeader('x-frame-options', 'DENY')
    response.setHeader('content-security-policy', `default-src 'none'`)
    if (request.url === '/inner') return response.end('<p>inner page</p>')
    if (request.url === '/next' || request.url === '/form') return response.end(`<p>came to ${request.url}</p>`)
    return response.end(HOSTILE(console))
  }
  const world = await openDeskPage(t, answer, { lines })
  if (world === null) return null
  ;({ console } = world)
  await world.context.addCookies([{ name: 'console', value: CONSOLE_COOKIE, domain: 'localhost', path: '/' }])
  /** The operator's page with the site's in its frame. */
  const show = async () => {
    const { page } = await world.work({ url: `http://${world.site.domain}/` })
    const frame = await taskFrame(page)
    await frame.waitForSelector('h1')
    return { page, frame }
  }
  return { ...world, show }
}

describe('the solver frame in Chromium', () => {
  test('shows the page with its pictures, links, forms and inner frames', async (t) => {
    const world = await setup(t)
    if (world === null) return t.skip(NO_BROWSER)
    const { show, site } = world

    const { page, frame } = await show()
    const width = await frame.evaluate(`new Promise((resolve) => {
      const image = document.getElementById('picture')
      if (image.complete) resolve(image.naturalWidth)
      else image.onload = () => resolve(image.naturalWidth)
    })`)
    await until('the inner frame is there', () => page.frames().some((one) => one.url().includes('/inner')))
    const inner = page.frames().find((one) => one.url().includes('/inner'))
    const innerText = await inner?.textContent('p')
    await frame.evaluate('window.done')
    await frame.click('#form button')
    await frame.waitForSelector('text=came to /form')

    assert.equal(width, 1)
    assert.equal(innerText, 'inner page')
    assert.equal(site.requests.find(({ url }) => url === '/form')?.body, 'field=typed')
    return undefined
  })

  test('the console’s cookies never reach the page, and the page’s never reach the console', async (t) => {
    const world = await setup(t)
    if (world === null) return t.skip(NO_BROWSER)
    const { show, site, context } = world

    const { page, frame } = await show()
    await frame.evaluate('window.done')
    await frame.click('#next')
    await frame.waitForSelector('text=came to /next')

    assert(site.requests.length >= 3)
    assert(!JSON.stringify(site.requests).includes(CONSOLE_COOKIE))
    assert(site.requests.some(({ headers }) => headers.cookie?.includes(PAGE_COOKIE) === true)) // kept here, for the site
    const cookies = await context.cookies()
    assert.deepEqual(cookies.map(({ name, domain, httpOnly }) => [name, domain, httpOnly]).toSorted(), [
      ['console', 'localhost', false],
      ['reeve_frame', 'frame.localhost', true],
      ['reeve_session', 'localhost', true],
    ])
    assert(!JSON.stringify(cookies).includes(PAGE_COOKIE))
    assert.equal(await page.evaluate('document.cookie'), `console=${CONSOLE_COOKIE}`)
    return undefined
  })

  test('a script in it cannot call the console’s API, read it, leave the frame or keep anything', async (t) => {
    const lines: string[] = []
    const world = await setup(t, lines)
    if (world === null) return t.skip(NO_BROWSER)
    const { show, console, context } = world
    const ofConsole: string[] = []
    const ofFrames: string[] = []
    context.on('response', (response) => {
      const isFramed = response.frame().parentFrame() !== null
      if (response.url().startsWith(`${console}/`)) (isFramed ? ofFrames : ofConsole).push(response.url())
    })

    const { page, frame } = await show()
    assert.equal(await frame.evaluate('window.done'), 'done')
    const tried: Record<string, string> = await frame.evaluate('window.tried')

    assert.equal(Object.keys(tried).length, 14)
    for (const [what, came] of Object.entries(tried)) {
      // A beacon says that it was sent before the policy stops it; what matters is that it did not arrive.
      if (what !== 'a beacon') assert(came.startsWith('no: '), `${what}: ${came}`)
    }
    assert(page.url().startsWith(`${console}${CONSOLE}?task=`), page.url())
    const answered = () =>
      lines.filter((line) => line.includes('"route":"/api/v1/captcha/tasks"') && line.includes('"status":200'))
    const asked = () => ofConsole.filter((url) => url.includes(`${TASKS}?`))
    await until(
      'nobody but the operator’s page has been answered',
      () => asked().length > 0 && answered().length === asked().length,
      () => ({ asked: asked(), answered: answered() }),
    )
    // Whatever the frame sent has arrived when a later request of the page has.
    const later = () => lines.filter((line) => line.includes('"route":"/auth/me"')).length
    const before = later()
    assert.equal(await page.evaluate(`fetch('/auth/me').then(({ status }) => status)`), 200)
    await until('it has arrived', () => later() > before)
    const arrived = lines.filter((line) => line.includes('"msg":"request"') && line.includes('/auth/logout'))
    assert.deepEqual(arrived, [])
    assert.deepEqual(ofFrames, [])
    return undefined
  })

  test('desk 11.8: a page finds no ticket anywhere, its requests carry the frame’s cookie, and nobody else’s do', async (t) => {
    const world = await setup(t)
    if (world === null) return t.skip(NO_BROWSER)
    const { show, url, context } = world

    const { frame } = await show()
    await frame.evaluate('window.done')
    const found = await frame.evaluate(FIND_TICKET)
    const requested: Record<string, string> = await frame.evaluate(REQUEST)
    await frame.waitForFunction('window.imported === "module"')
    const address = frame.url()
    const inAnotherTab = await (await context.newPage()).goto(address)
    const withoutBrowser = await ask(url, address)

    assert.match(address, /^http:\/\/frame\.localhost:\d+\/internal\/solver-frame\/[0-9a-f-]{36}$/)
    assert(!/v1\.|[?&]t=|reeve_frame/.test(String(found)), String(found))
    assert.deepEqual(requested, {
      fetch: 'file',
      post: 'posted {}',
      xhr: 'file',
    })
    assert.deepEqual([inAnotherTab?.status(), withoutBrowser.status], [403, 403])
    return undefined
  })

  test('stored script in any field of a task is shown as text, on the operator’s page and in the frame', async (t) => {
    const world = await setup(t)
    if (world === null) return t.skip(NO_BROWSER)
    const { context, signIn, create, assign, other } = world
    const script = `<script>window.pwned=1</script><img src=x onerror="window.pwned=1">"'><svg onload=window.pwned=1>`
    const task = await create({
      url: `https://shop.example/${encodeURIComponent(script)}`,
      challenge_type: script.slice(0, 100),
      error_message: script,
      request_id: script,
      user_agent: script,
      metadata: { [script]: script },
      form: {
        question: script,
        fields: [
          { type: 'choice', name: 'one', label: script, options: [script, 'other'] },
          { type: 'text', name: 'two', label: script },
        ],
      },
    })
    await assign(task.uuid, other)
    await other.patch(`${TASKS}/${task.uuid}/status`, { status: 'failed', error: script })
    await other.patch(`${TASKS}/${task.uuid}/status`, { status: 'pending' })
    const page = await context.newPage()
    await signIn(page)
    const listed = (await page.locator(`button[data-uuid="${task.uuid}"]`).textContent()) ?? ''
    await claim(page, task.uuid)
    const frame = await taskFrame(page)
    await frame.waitForSelector('dl')
    const times = async (where: Frame | Page, selector: string) =>
      ((await where.textContent(selector)) ?? '').split('<script>window.pwned=1</script>').length - 1

    assert.equal(await frame.evaluate('window.pwned'), undefined)
    assert.equal(await page.evaluate('window.pwned'), undefined)
    assert.equal(await times(frame, 'dl'), 7)
    assert.equal(await frame.locator('script, img, svg').count(), 0)
    assert(listed.includes(script))
    assert.equal(await times(page, '[aria-label=Task] dl'), 6)
    assert.equal(await times(page, '[aria-label=Solution]'), 4)
    assert.equal(await page.locator('body script, svg[onload], img[src=x]').count(), 0)
    return undefined
  })

  test('no other site can show it', async (t) => {
    const world = await setup(t)
    if (world === null) return t.skip(NO_BROWSER)
    const { create, assign, operator, site, context } = world
    const other = await startSite(t, (_request, response) => response.end(''))
    const { uuid } = await create({ url: `http://${site.domain}/` })
    await assign(uuid)
    const { url } = (await operator.post(`${TASKS}/${uuid}/frame`)).body
    const page = await context.newPage()
    const body = `<!doctype html><title>Other</title><iframe id="frame" width=800 height=600 src="${url}"></iframe>`
    await page.route(`http://127.0.0.1:${other.port}/holder`, (route) =>
      route.fulfill({ contentType: 'text/html', body }),
    )

    await page.goto(`http://127.0.0.1:${other.port}/holder`)
    const frame = await frameOf(page, '#frame')
    await page.waitForLoadState('networkidle')

    assert.match(frame.url(), /^chrome-error:/)
    assert(!(await frame.content()).includes('Shop'))
    return undefined
  })
})
