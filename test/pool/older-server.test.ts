// The contract's last section: a client of this version at a server that still says `last_heartbeat_at`.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { describe, test } from 'node:test'
import { ReeveClient } from '@reeve/sdk'
import { listen } from '../support/listen.ts'

const WORKER = {
  id: 7,
  name: 'w',
  owner_user_id: 22,
  status: 'offline',
  region: null,
  specs_json: null,
  public_key: null,
}
const [OLD, NEW] = ['2026-02-08T12:30:45.123456Z', '2026-02-09T12:30:45.123456Z']

describe('pool: last_seen_at and last_heartbeat_at', () => {
  test('are read as last_seen_at, which is preferred where both are there, and never as the older name', async (t) => {
    const workers = [
      { ...WORKER, last_heartbeat_at: OLD },
      { ...WORKER, last_seen_at: NEW },
      { ...WORKER, last_seen_at: NEW, last_heartbeat_at: OLD },
      { ...WORKER, last_seen_at: null },
    ]
    const server = createServer((_, response) => {
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ workers }))
    })
    const client = new ReeveClient({ url: `http://127.0.0.1:${await listen(t, server)}`, token: '0'.repeat(64) })

    const read = await client.pool.workers()

    assert.deepEqual(
      read.map(({ last_seen_at: at }) => at),
      [OLD, NEW, NEW, null],
    )
    assert(!JSON.stringify(read).includes('last_heartbeat_at'))
  })
})
