// The SDK's arena client in a real browser, with nothing but what a browser has: its own WebSocket and fetch.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { ArenaClient } from '@reeve/sdk/arena'
import { chromium } from 'playwright-core'
import { WebSocket } from 'ws'
import { startServer } from '../contract/arena/setup.ts'
import { atEnd } from '../support/cleanup.ts'

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find(existsSync)
const SDK = new URL('../../sdk/dist/', import.meta.url)

test(
  'a page plays a match against a Node client',
  { skip: CHROMIUM === undefined && 'no Chromium here' },
  async (t) => {
    const { url } = await startServer(t, { env: { SESSION_TICK_INTERVAL_MS: '50', SESSION_TICKS: '20' } })
    const browser = await chromium.launch({ executablePath: CHROMIUM ?? '', args: ['--no-sandbox'] })
    atEnd(t, () => browser.close())
    const page = await browser.newPage()
    // The page is of the server's origin, so that its WebSocket is let in; its files come from the SDK as it is built.
    await page.route(`${url}/page/**`, async (route) => {
      const name = new URL(route.request().url()).pathname.slice('/page/'.length)
      if (name === 'index.html')
        return route.fulfill({ contentType: 'text/html', body: '<!doctype html><title>arena</title>' })
      return route.fulfill({ contentType: 'text/javascript', body: await readFile(new URL(name, SDK), 'utf8') })
    })
    await page.goto(`${url}/page/index.html`)
    const bob = await ArenaClient.login({ url, username: 'bob', password: 'p', register: true, WebSocket })
    atEnd(t, () => bob.close())

    const played = page.evaluate(`(async () => {
    const { ArenaClient } = await import('/page/arena.js')
    const arena = await ArenaClient.login({ url: location.origin, username: 'ann', password: 'p', register: true })
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
  },
)
