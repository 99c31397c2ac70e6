// A real server with the built console, and a real browser in front of it: one browser for all tests of a file.
import assert from 'node:assert/strict'
import { mkdir, readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { after, type TestContext } from 'node:test'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { launchBrowser } from '../../support/browser.ts'
import { atEnd, FILE, type Scope } from '../../support/cleanup.ts'
import { startProxy, type Proxy } from '../../support/proxy.ts'
import { newAccount, startReeve, tokenOf, type Reeve, type ReeveOptions } from '../../support/reeve.ts'

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js')
const PICTURES = 'docs/pictures'
/** On a busy machine a page takes its time; after a lost connection, dead ones are found out one by one. */
const PATIENCE_MS = 120_000

export const WIDTHS = { desktop: [1440, 900], laptop: [1024, 768], phone: [390, 844] } as const

let launched: Promise<Browser | null> | null = null
after(async () => (await launched)?.close())

export interface Visit {
  /** The name of an account; it is made with these roles where it is new. Undefined: nobody is signed in. */
  as?: string
  roles?: readonly string[]
  path?: string
  width?: keyof typeof WIDTHS
  scheme?: 'light' | 'dark'
}

export interface ConsoleWorld extends Reeve {
  /** Where the browser goes: a proxy, so that a test can cut the connection. */
  origin: string
  network: Proxy
  /** A browser of its own, as another person has: nothing is shared with other visits. */
  visit(visit?: Visit): Promise<Page>
}

/** Null: there is no browser here, and the test is to be skipped with NO_BROWSER. */
export async function openConsole(t: TestContext, options: ReeveOptions = {}): Promise<ConsoleWorld | null> {
  launched ??= launchBrowser()
  const browser = await launched
  return browser === null ? null : worldOf(t, browser, await openServer(t, options))
}

/** The same, in front of one server for all tests of the file: for those that mind nobody's data. */
export async function visitConsole(t: TestContext): Promise<ConsoleWorld | null> {
  launched ??= launchBrowser()
  const browser = await launched
  return browser === null ? null : worldOf(t, browser, await (shared ??= openServer(FILE)))
}

let shared: ReturnType<typeof openServer> | null = null

async function openServer(scope: Scope, options: ReeveOptions = {}) {
  const reeve = await startReeve(scope, options)
  const network = await startProxy(scope, { host: '127.0.0.1', port: Number(new URL(reeve.url).port) })
  return { ...reeve, network, origin: `http://127.0.0.1:${network.port}`, made: new Set(['admin']) }
}

type ConsoleServer = Awaited<ReturnType<typeof openServer>>

function worldOf(t: TestContext, browser: Browser, { made, ...server }: ConsoleServer): ConsoleWorld {
  const { url, origin } = server
  return {
    ...server,
    async visit({ as, roles = ['ADMIN'], path = '/', width = 'desktop', scheme = 'light' } = {}) {
      const [w, h] = WIDTHS[width]
      const context = await browser.newContext({ viewport: { width: w, height: h }, colorScheme: scheme })
      context.setDefaultTimeout(PATIENCE_MS)
      atEnd(t, () => context.close())
      await context.grantPermissions(['clipboard-read', 'clipboard-write'])
      if (as !== undefined) {
        if (!made.has(as)) await newAccount(url, as, roles)
        made.add(as)
        await signIn(context, origin, (await tokenOf(url, as)).token)
      }
      const page = await context.newPage()
      watch(t, page)
      await page.goto(`${origin}${path}`)
      return page
    },
  }
}

/** As a sign-in does, without the time that a password takes. */
const signIn = (context: BrowserContext, origin: string, token: string) =>
  context.addCookies([{ name: 'reeve_session', value: token, url: origin, httpOnly: true, sameSite: 'Strict' }])

/** A page that throws, or that breaks its Content-Security-Policy, fails its test. */
function watch(t: TestContext, page: Page): void {
  const wrong: string[] = []
  page.on('pageerror', (error) => wrong.push(error.stack ?? error.message))
  page.on('console', (message) => {
    if (message.type() === 'error' && /Content.Security.Policy|TrustedHTML|Minified React/i.test(message.text()))
      wrong.push(message.text())
  })
  atEnd(t, () => assert.deepEqual(wrong, [], 'what the page complained about'))
}

/** What is wrong with the page for people who do not see or use it as others do: by all rules, or by these. */
export async function violations(page: Page, rules: readonly string[] = []): Promise<string[]> {
  if (await page.evaluate(`typeof axe === 'undefined'`)) await page.evaluate(await readFile(AXE, 'utf8'))
  const some = rules.length === 0 ? {} : { runOnly: { type: 'rule', values: rules } }
  const options = { iframes: false, resultTypes: ['violations'], ...some }
  const found = await page.evaluate(`axe.run(document, ${JSON.stringify(options)}).then(({ violations }) =>
    violations.map(({ id, impact, nodes }) => impact + ' ' + id + ': ' + nodes.map(({ html }) => html).join(' ')))`)
  assert(Array.isArray(found))
  return found.map(String)
}

// Of axe's rules that are on, those about colours. What the others look at is the same in both schemes.
const OF_COLOURS = ['color-contrast', 'link-in-text-block']
const SCHEMES = [
  ['light', []],
  ['dark', OF_COLOURS],
] as const

// In the page itself: a request that Playwright sends in its place has no cookie.
const HOLD = `
  window.heldAnswer = new Promise((written) => {
    const before = window.fetch
    window.fetch = async (input, init) => {
      const response = await before(input, init)
      if (!String(input).includes(PART)) return response
      window.fetch = before
      const { status, headers } = response
      const answer = new Response(await response.text(), { status, headers })
      return new Promise((resolve) => written(() => resolve(answer)))
    }
  })
  null`

/** The page gets its next answer from such an address when it is released. `written`: the server has answered. */
export async function holdAnswer(page: Page, address: string) {
  await page.evaluate(HOLD.replace('PART', JSON.stringify(address)))
  return {
    written: () => page.evaluate('window.heldAnswer.then(() => null)'),
    release: () => page.evaluate('window.heldAnswer.then((release) => release())'),
  }
}

const CUT_LISTS = `[...document.querySelectorAll('[role=grid]')]
  .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
  .map((grid) => grid.getAttribute('aria-label'))`

/** In both colour schemes. */
export async function checkLooks(page: Page): Promise<void> {
  for (const [colorScheme, rules] of SCHEMES) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    assert.deepEqual(await violations(page, rules), [], `as axe sees it, ${colorScheme}`)
    const overflow = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    assert.equal(overflow, 0, 'the page is not wider than the window')
    assert.deepEqual(await page.evaluate(CUT_LISTS), [], 'no column of a list is cut off')
  }
}

/** A stranger's text inside a sentence, as the console writes it there: it does not turn the rest around. */
export const isolated = (text: string): string => (/[\u0250-\uffff]/.test(text) ? `\u2068${text}\u2069` : text)

/** A hostile name, but an ordinary one where pictures are taken. */
export const hostileUnlessPictured = (hostile: string, ordinary: string): string =>
  process.env['REEVE_PICTURES'] === undefined ? hostile : ordinary

/** A picture for docs/. Written where REEVE_PICTURES is set: pixels differ from machine to machine. */
export async function takePicture(page: Page, name: string): Promise<void> {
  const folder = process.env['REEVE_PICTURES']
  if (folder === undefined) return
  const target = folder === '' || folder === '1' ? PICTURES : folder
  await mkdir(target, { recursive: true })
  await page.emulateMedia({ colorScheme: 'light' })
  await page.screenshot({ path: `${target}/${name}.png`, animations: 'disabled' })
}
