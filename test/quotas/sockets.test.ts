import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test, type TestContext } from 'node:test'
import { WebSocket } from 'ws'
import { newAccount, startReeve, tokenOf } from '../support/reeve.ts'
import { until } from '../support/until.ts'

const PATHS = ['/ws', '/ws/captcha', '/ws/captcha/shop.example', '/admin/events?channel=x', '/live'] as const

/** The open socket, or the response that refused it. */
async function upgrade(t: TestContext, url: string, path: string, token: string) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}${path}`, { headers: { authorization: `Bearer ${token}` } })
  t.after(() => socket.terminate())
  socket.on('error', () => {})
  const refusal = new Promise<{ status: number | undefined; retryAfter: unknown; body: object }>((resolve) => {
    socket.once('unexpected-response', async (_request, response) => {
      let text = ''
      for await (const chunk of response) text += String(chunk)
      resolve({ status: response.statusCode, retryAfter: response.headers['retry-after'], body: JSON.parse(text) })
    })
  })
  return Promise.race([once(socket, 'open').then(() => socket), refusal])
}

test('an account over QUOTA_SOCKETS gets 429 at the upgrade, at every door and in its error format', async (t) => {
  const { url } = await startReeve(t, { env: { QUOTA_SOCKETS: '3' } })
  const { token } = await tokenOf(url, 'admin')
  const other = await newAccount(url, 'other')

  const open = []
  for (const path of PATHS.slice(-3)) open.push(await upgrade(t, url, path, token))
  const refusals = await Promise.all(PATHS.map((path) => upgrade(t, url, path, token)))
  const ofOther = await upgrade(t, url, '/ws', other.token)

  assert(open.every((socket) => socket instanceof WebSocket))
  assert(ofOther instanceof WebSocket)
  const message = 'An account has at most 3 open WebSockets. Close one first.'
  for (const [index, refusal] of refusals.entries()) {
    assert(!(refusal instanceof WebSocket), PATHS[index])
    assert.deepEqual([refusal.status, refusal.retryAfter], [429, '1'], PATHS[index])
    if (index > 0) assert.deepEqual(refusal.body, { detail: message })
    else assert.match(JSON.stringify(refusal.body), /^{"success":false,"data":null,"error":{"code":"quota_exceeded"/)
  }

  const [first] = open
  if (first instanceof WebSocket) first.close()
  await until('a closed one makes room', async () => (await upgrade(t, url, '/ws', token)) instanceof WebSocket)
})
