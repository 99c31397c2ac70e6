// The story of somebody whose request is refused: the debugger names the line, and keeps the secret to itself.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_BROWSER } from '../../support/browser.ts'
import { checkLooks, openConsole, takePicture } from './console.ts'

// Computed with openssl: test/contract/challenge/signing.test.ts.
const SIG = '4d952f83a0ad9af619f3bce73697a9aaed03d9bf18d249866a5da2627aff0f38'
const HEADER = `Authorization: RCS-HMAC-SHA256 keyId=solver-kid-1,ts=1700000000,nonce=nonce-1,sig=${SIG}`
const BODY = '{"api_version":"v2.1"}'
const HASH = '82aa2802a7504fc5a6b939fb17eb5cb349f04a44d059d3a522db3d066287c040'

test('the debugger names the line that differs, with the keyboard alone, and sends nothing', async (t) => {
  const world = await openConsole(t, { doors: 'challenge' })
  if (world === null) return t.skip(NO_BROWSER)
  const page = await world.visit({ as: 'ann', roles: ['CHALLENGER'], path: '/console/challenges' })
  await page.getByRole('link', { name: 'Check a signature' }).click()
  await page.getByLabel('Request').waitFor()
  await page.locator('nav [aria-current=page]').getByText('Challenges').first().waitFor()
  const sent: string[] = []
  page.on('request', (request) => sent.push(`${request.url()} ${request.postData() ?? ''}`))
  const check = async (requestLine: string, body: string) => {
    await page.getByLabel('Request').fill(`${requestLine}\nHost: a\n${HEADER}\n\n${body}`)
    await page.getByLabel('Secret').fill('top-secret')
    await page.keyboard.press('Enter')
    return page.getByRole('region', { name: 'Result' })
  }

  const right = await check('POST /solve?x=1 HTTP/1.1', BODY)
  await right.getByText('Verifies', { exact: true }).waitFor()
  await right.getByRole('list', { name: 'What is to be signed' }).getByText(HASH).waitFor()

  const wrong = await check('PUT /solve HTTP/1.1', BODY)
  await wrong.getByText('It would verify if line 1, the method, was POST.').waitFor()
  await page.getByLabel('What the other side signed').fill(`POST\n/solve\n1700000000\n<b>other</b>\n${HASH}`)
  await page.getByLabel('Secret').press('Enter')
  await wrong.getByRole('list', { name: 'Differences' }).getByText('<b>other</b>').waitFor()
  await checkLooks(page)
  await takePicture(page, 'signature')
  await page.setViewportSize({ width: 390, height: 844 })
  await checkLooks(page)

  const strange = await check('POST /solve HTTP/1.1', `${BODY} <script>`)
  await strange.getByText('None of the usual mistakes explains it.').waitFor()
  await page.getByLabel('Request').fill('GET / HTTP/1.1')
  await page.getByLabel('Secret').press('Enter')
  await page.getByRole('alert').getByText('This is no request.').waitFor()
  assert.deepEqual(
    sent.filter((text) => text.includes('top-secret') || text.includes('api_version')),
    [],
    'neither the secret nor the request is sent',
  )
  return undefined
})
