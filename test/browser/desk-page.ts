// The desk's page of a real server in a real browser, with a task in hand.
import assert from 'node:assert/strict'
import type http from 'node:http'
import type { TestContext } from 'node:test'
import type { Frame, Page } from 'playwright-core'
import { staffed, type Asker, type SetupOptions } from '../contract/desk/setup.ts'
import { startSite } from '../contract/desk/site.ts'
import { openBrowser } from '../support/browser.ts'

export const CONSOLE = '/console/desk'
const PATIENCE_MS = 120_000 // a busy machine

/** Null: there is no browser here. */
export async function openDeskPage(t: TestContext, answer: http.RequestListener, options: SetupOptions = {}) {
  const browser = await openBrowser(t)
  if (browser === null) return null
  const desk = await staffed(t, options)
  const console = `http://localhost:${new URL(desk.url).port}`
  const site = await startSite(t, answer)
  await desk.admin.post('/api/v1/captcha/domains', { domain: site.domain, reason: 'a test' })
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 } })
  context.setDefaultTimeout(PATIENCE_MS)

  const signIn = async (page: Page, { token }: Asker = desk.operator) => {
    await context.addCookies([
      { name: 'reeve_session', value: token, url: console, httpOnly: true, sameSite: 'Strict' },
    ])
    await page.goto(console + CONSOLE)
  }
  /** Signed in, and with this task in hand. */
  const work = async (more: object) => {
    const page = await context.newPage()
    const { uuid } = await desk.create(more)
    await signIn(page)
    await claim(page, uuid)
    return { page, uuid }
  }
  return { ...desk, console, site, context, signIn, work }
}

export async function claim(page: Page, uuid: string): Promise<void> {
  await page.locator(`button[data-uuid="${uuid}"]`).click()
  await page.getByRole('timer', { name: 'Your lock' }).waitFor()
}

export async function frameOf(page: Page, selector: string): Promise<Frame> {
  const handle = await page.waitForSelector(selector)
  const frame = await handle.contentFrame()
  assert(frame !== null)
  return frame
}

/** The frame of the task in hand, once its address is known. */
export async function taskFrame(page: Page): Promise<Frame> {
  await page.locator('iframe[src*="/internal/solver-frame/"]').waitFor()
  return frameOf(page, 'iframe')
}
