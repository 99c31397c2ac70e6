// The arena in the console: a guest and a player meet, one reloads and loses the connection, and they play again.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ArenaClient } from '@reeve/sdk/arena'
import type { Page } from 'playwright-core'
import { WebSocket } from 'ws'
import { NO_BROWSER } from '../../support/browser.ts'
import { atEnd } from '../../support/cleanup.ts'
import { until } from '../../support/until.ts'
import { checkLooks, hostileUnlessPictured, openConsole, takePicture } from './console.ts'

/** Long enough for a reload in the middle on a busy machine; a match ends when somebody gives up. */
const LONG = { SESSION_TICKS: '6000' }
/** Long enough to be seen. */
const SHORT = { SESSION_TICKS: '120' }

const BOB = hostileUnlessPictured('bob‮ <b>x', 'bob')

const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 })
const scores = (page: Page) => page.locator('[data-score]').allTextContents()
const best = async (page: Page) => Math.max(...(await scores(page)).map(Number))
const reaches = (page: Page, score: number) => until(`a score of ${score}`, async () => (await best(page)) >= score)
/** A tap that a slow machine delivers too late does not count: it is pressed until the other one sees it. */
const pressUntil = (page: Page, key: string, other: Page, score: number) =>
  until(`a score of ${score}`, async () => {
    await page.keyboard.press(key)
    return (await best(other)) >= score
  })

describe('the console’s arena', () => {
  test('two people meet: a guest plays at once, reloads and loses the connection; then the result and a rematch', async (t) => {
    const world = await openConsole(t, { env: LONG })
    if (world === null) return t.skip(NO_BROWSER)
    const ann = await world.visit({ as: 'ann', roles: ['PLAYER'], path: '/console/arena/play' })
    const guest = await world.visit({ path: '/console/arena', width: 'phone' })
    const eve = await world.visit({ as: 'eve', roles: ['PLAYER'], path: '/console/arena' })
    await ann.getByRole('button', { name: 'Find an opponent' }).waitFor()
    await takePicture(ann, 'arena-play')

    await guest.getByRole('button', { name: 'Play as a guest' }).click()
    await guest.getByRole('button', { name: 'Find an opponent' }).click()
    await ann.getByRole('button', { name: 'Find an opponent' }).click()
    await heading(ann, 'Your match').waitFor()
    await heading(guest, 'Your match').waitFor()
    await pressUntil(ann, 'ArrowRight', guest, 3)
    await pressUntil(ann, 'Space', guest, 12)
    const before = await scores(ann)
    await until('the tap of the guest counts', async () => {
      await guest.getByRole('button', { name: /^Run/ }).click()
      return (await scores(ann)).every((score, side) => score !== before[side] || Number(score) >= 12)
    })
    await checkLooks(ann)
    await checkLooks(guest)
    await takePicture(ann, 'arena-match')

    await guest.reload()
    await heading(guest, 'Your match').waitFor()
    await reaches(guest, 12)
    await eve.getByRole('link', { name: /^Watch .*ann/ }).waitFor()
    await eve.reload()
    await eve.getByRole('link', { name: /^Watch .*ann/ }).waitFor()
    await eve.getByText('live', { exact: true }).waitFor()
    world.network.partition()
    await ann.getByText('Reconnecting…').waitFor()
    await eve.getByText('reconnecting…').waitFor()
    const alone = await ArenaClient.guest({ url: world.url, WebSocket })
    atEnd(t, () => alone.close())
    await alone.play({ mode: 'bot' })
    world.network.heal()
    await ann.getByText('Reconnecting…').waitFor({ state: 'hidden' })
    await eve.getByRole('link', { name: /^Watch .*bot/ }).waitFor()
    await pressUntil(ann, 'ArrowRight', guest, (await best(ann)) + 9)

    await guest.getByRole('button', { name: 'Give up' }).click()
    await ann.getByText('gave up. You win.').waitFor()
    await guest.getByText('ann wins.').waitFor()
    await eve.getByRole('link', { name: /^Watch .*ann/ }).waitFor({ state: 'detached' })
    await ann.getByText('No rating changed.').waitFor()
    await checkLooks(ann)
    await ann.getByRole('button', { name: 'Rematch' }).click()
    await guest.getByText('ann wants a rematch').waitFor()
    await guest.getByRole('button', { name: 'Rematch' }).click()
    await heading(ann, 'Your match').waitFor()
    await heading(guest, 'Your match').waitFor()
    await until('it begins anew', async () => String(await scores(ann)) === '0,0')
    return undefined
  })

  test('with the keyboard alone: waiting offers the bot, a match against it, the replay with its time bar', async (t) => {
    const world = await openConsole(t, { env: SHORT })
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit({ as: 'ann', roles: ['PLAYER'], path: '/console/arena' })

    await page.getByRole('link', { name: 'Play', exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('button', { name: 'Find an opponent' }).waitFor()
    await page.keyboard.press('Enter')
    await heading(page, 'Looking for an opponent').waitFor()
    await page.getByRole('timer').getByText(/ s$/).waitFor()
    await page.getByRole('button', { name: 'Play the bot instead' }).focus()
    await checkLooks(page)
    await page.keyboard.press('Enter')
    await heading(page, 'Your match').waitFor()
    await page.keyboard.press('ArrowRight')
    await heading(page, 'Result').waitFor()
    await page.getByText('No rating changed.').waitFor()
    await page.getByRole('link', { name: 'Watch again' }).focus()
    await page.keyboard.press('Enter')

    await heading(page, 'ann against bot').waitFor()
    const bar = page.getByRole('slider', { name: 'Time in the match' })
    await page.getByRole('button', { name: 'Play' }).waitFor() // it has come to its end
    assert.equal(await bar.inputValue(), SHORT.SESSION_TICKS)
    const end = await scores(page)
    await bar.focus()
    await page.keyboard.press('Home')
    await until('the beginning is shown', async () => String(await scores(page)) === '0,0')
    await page.keyboard.press('End')
    await until('the end is shown', async () => String(await scores(page)) === String(end))
    await checkLooks(page)
    await takePicture(page, 'arena-replay')
    return undefined
  })

  test('ratings: the result, the leaderboard, a profile with its plot, and a stranger who watches', async (t) => {
    const world = await openConsole(t, { env: LONG })
    if (world === null) return t.skip(NO_BROWSER)
    const ann = await world.visit({ as: 'ann', roles: ['PLAYER'], path: '/console/arena/play' })
    const bob = await world.visit({ as: BOB, roles: ['PLAYER'], path: '/console/arena/play', scheme: 'dark' })
    const eve = await world.visit({ as: 'eve', roles: ['PLAYER'], path: '/console/arena', width: 'laptop' })
    for (const page of [ann, bob]) await page.getByRole('button', { name: 'Find an opponent' }).click()
    await heading(ann, 'Your match').waitFor()
    await heading(bob, 'Your match').waitFor()
    const watch = eve.getByRole('link', { name: /^Watch ann/ })
    await watch.waitFor()
    await bob.getByRole('button', { name: 'Give up' }).click()
    await ann.getByText(/Your rating: 1500 → 1662/).waitFor()
    await watch.waitFor({ state: 'detached' })

    await ann.getByRole('button', { name: 'Rematch' }).click()
    await bob.getByRole('button', { name: 'Rematch' }).click()
    await heading(bob, 'Your match').waitFor()
    await watch.waitFor()
    await takePicture(eve, 'arena-lobby')
    await watch.click()
    await heading(eve, 'Live match').waitFor()
    await ann.getByRole('button', { name: 'Give up' }).click()
    await eve.getByRole('slider', { name: 'Time in the match' }).waitFor() // the match is over: its replay

    await eve.goto(`${world.origin}/console/arena/leaderboard`)
    await eve.getByRole('grid', { name: 'Players by rating' }).getByText('ann').waitFor()
    await checkLooks(eve)
    await takePicture(eve, 'arena-leaderboard')
    await eve.getByRole('grid', { name: 'Players by rating' }).getByText('ann').click()
    await heading(eve, 'ann').waitFor()
    await eve.locator('canvas').waitFor()
    await eve.getByRole('grid', { name: 'Matches' }).getByText('Lost').first().waitFor()
    await checkLooks(eve)
    await takePicture(eve, 'arena-player')
    await eve.keyboard.press('Control+k')
    await eve.getByRole('combobox', { name: 'Go to' }).fill('BO')
    await eve.getByRole('option', { name: /^bob.*Player, / }).click()
    await heading(eve, BOB).waitFor()
    return undefined
  })

  test('the lobby on a phone without anybody: what to do is said, and nothing is wider than the window', async (t) => {
    const world = await openConsole(t)
    if (world === null) return t.skip(NO_BROWSER)
    const page = await world.visit({ path: '/console/arena', width: 'phone' })
    await page.getByText('Nobody has played yet').waitFor()
    await checkLooks(page)
    await takePicture(page, 'arena-phone')
    return undefined
  })
})
