// The SDK's arena client in a real browser, with nothing but what a browser has: its own WebSocket and fetch.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { ArenaClient } from '@reeve/sdk/arena'
import { WebSocket } from 'ws'
import { startServer } from '../contract/arena/setup.ts'
import { NO_BROWSER, openBrowser } from '../support/browser.ts'
import { atEnd } from '../support/cleanup.ts'

const SDK = new URL('../../sdk/dist/', import.meta.url)

test('a page plays a match against a Node client', async (t) => {
  const browser = await openBrowser(t)
  if (browser === null) return t.skip(NO_BROWSER)
  // Long enough that some move is in time, also on a busy machine.
  const { url } = await startServer(t, { env: { SESSION_TICK_INTERVAL_MS: '50', SESSION_TICKS: '120' } })
  // The server's own page, so that its WebSocket is let in; the script comes from the SDK as it is built.
  const page = await browser.newPage({ bypassCSP: true })
  await page.route(`${url}/page/**`, async (route) => {
    const name = new URL(route.request().url()).pathname.slice('/page/'.length)
    return route.fulfill({ contentType: 'text/javascript', body: await readFile(new URL(name, SDK), 'utf8') })
  })
  await page.goto(url)
  const bob = await ArenaClient.login({ url, username: 'bob', password: 'p password', register: true, WebSocket })
  atEnd(t, () => bob.close())

  const played = page.evaluate(`(async () => {
    const { ArenaClient } = await import('/page/arena/arena.js')
    const arena = await ArenaClient.login({ url: location.origin, username: 'ann', password: 'p password', register: true })
    const session = await arena.play({ timeoutSeconds: 30 })
    session.onState(() => session.move(3))
    const ended = await session.ended
    const { username, wins } = await arena.profile()
    arena.close()
    return JSON.stringify({ ended, username, wins })
  })()`)
  const session = await bob.play({ timeoutSeconds: 30 })
  const ended = await session.ended

  assert.deepEqual(JSON.parse(String(await played)), { ended, username: 'ann', wins: 1 })
})
