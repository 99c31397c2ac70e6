// A real Chromium, Debian's own. test/run.ts installs it where it may; where it is missing, the tests in it say so and are skipped.
// The headless shell is the same engine without windows, which cost more than the pages in them.
import { existsSync } from 'node:fs'
import type { TestContext } from 'node:test'
import { chromium, type Browser } from 'playwright-core'
import { atEnd } from './cleanup.ts'

const PLACES = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

const ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // Pages that a test makes up have no address, and would not be let to the loopback; nor should it be this that keeps a page
  // from something that the server is to keep it from.
  // A spare renderer for each context is started and never used.
  '--disable-features=LocalNetworkAccessChecks,SpareRendererForSitePerProcess',
]

export const NO_BROWSER = 'Chromium is not installed here'

/** Null: there is none, and the test is to be skipped with NO_BROWSER. */
export async function openBrowser(t: TestContext): Promise<Browser | null> {
  const browser = await launchBrowser()
  if (browser !== null) atEnd(t, () => browser.close())
  return browser
}

/** The same; whoever launches it closes it. */
export async function launchBrowser(): Promise<Browser | null> {
  const executablePath = PLACES.find((path) => existsSync(path))
  return executablePath === undefined ? null : chromium.launch({ executablePath, args: ARGS, headless: true })
}
