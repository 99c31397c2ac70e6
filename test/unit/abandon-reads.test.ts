// After the network was away a page gives up what it waits for, and asks again.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { test } from 'node:test'
import { ReadsAbandoned, ReeveClient } from '@reeve/sdk'

test('abandoned reads end at once and can be asked again; what changes something goes on', async (t) => {
  const waiting = new Set<() => void>()
  const server = createServer((request, response) => {
    const answer = () => void response.setHeader('content-type', 'application/json').end('{"ok":true}')
    if (request.url === '/at-once') answer()
    else waiting.add(answer)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  t.after(() => server.closeAllConnections())
  const address = server.address()
  assert(typeof address === 'object' && address !== null)
  const client = new ReeveClient({ url: `http://127.0.0.1:${address.port}` })

  const lost = assert.rejects(client.request('GET', '/late'), ReadsAbandoned)
  const change = client.request('POST', '/change')
  while (waiting.size < 2) await once(server, 'request')
  client.abandonReads()
  await lost
  assert.deepEqual(await client.request('GET', '/at-once'), { ok: true })
  for (const answer of waiting) answer()
  assert.deepEqual(await change, { ok: true })
})
