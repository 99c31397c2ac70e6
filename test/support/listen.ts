import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { TestContext } from 'node:test'
import { atEnd } from './cleanup.ts'

/** Listens on a free port of the loopback address, until the end of the test. Answers with the port. */
export async function listen(t: TestContext, server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(t, () => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  assert(typeof address === 'object' && address !== null)
  return address.port
}
