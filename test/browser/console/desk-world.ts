// The desk's pages with a site to work on and a program that asks.
import assert from 'node:assert/strict'
import type http from 'node:http'
import type { TestContext } from 'node:test'
import { ReeveClient, type DeskTask } from '@reeve/sdk'
import type { Page } from 'playwright-core'
import { startSite } from '../../contract/desk/site.ts'
import { newAccount, tokenOf } from '../../support/reeve.ts'
import { until } from '../../support/until.ts'
import { openConsole, type Visit } from './console.ts'

const ENV = {
  OUTBOUND_ALLOW_CIDRS: '127.0.0.1/32',
  CAPTCHA_PROXY_IMPERSONATE: 'none',
  CAPTCHA_OPERATOR_RATE_LIMIT: '6000',
}

const PAGE: http.RequestListener = (_request, response) =>
  response
    .writeHead(200, { 'content-type': 'text/html', 'set-cookie': 'cf_clearance=from-the-page; Path=/; HttpOnly' })
    .end('<!doctype html><title>Shop</title><h1>Are you a person?</h1><button>Yes</button>')

/** Null: there is no browser here. */
export async function openDesk(t: TestContext, answer: http.RequestListener = PAGE) {
  const world = await openConsole(t, { doors: 'desk', env: ENV })
  if (world === null) return null
  const site = await startSite(t, answer)
  const clientOf = (token: string) => new ReeveClient({ url: world.url, token })
  const program = clientOf((await newAccount(world.url, 'sid', ['SCRAPER'])).token)
  const admin = clientOf((await tokenOf(world.url, 'admin')).token)
  await admin.desk.allowDomain(site.domain, 'a test')

  const create = (more: object = {}): Promise<DeskTask> =>
    program.request('POST', '/api/v1/captcha/tasks', { body: { url: 'https://shop.example/cart', ...more } })
  const taskOf = (uuid: string): Promise<DeskTask> => program.request('GET', `/api/v1/captcha/tasks/${uuid}`)
  const untilStatus = (uuid: string, status: string) =>
    until(`the task is ${status}`, async () => (await taskOf(uuid)).status === status)
  const operator = (visit: Visit = {}) =>
    world.visit({ as: 'ann', roles: ['OPERATOR'], path: '/console/desk', ...visit })
  return { ...world, site, program, admin, create, taskOf, untilStatus, operator, clientOf }
}

export const cardOf = (page: Page, uuid: string) => page.locator(`button[data-uuid="${uuid}"]`)

/** The page is live: what happens from now on is shown. */
export const live = (page: Page) => page.getByText('● live').waitFor()

/** The solution that the program got. */
export function cookiesOf(task: unknown): Record<string, string> {
  assert(typeof task === 'object' && task !== null && 'cookies_json' in task && Array.isArray(task.cookies_json))
  return Object.fromEntries(task.cookies_json.map(({ name, value }) => [name, value]))
}
