// Five hundred clients that stop reading: all are closed, the memory of the server stays bounded, and those who read do not
// notice.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { Client } from 'pg'
import { migrationFolders } from '../../src/doors/outline.ts'
import { rawClient, type RawClient } from '../contract/arena/raw-client.ts'
import { connect, join, urlOf } from '../contract/arena/setup.ts'
import { dataFolder, spawnReeve } from '../crash/reeve.ts'
import { atEnd } from '../support/cleanup.ts'
import { freshDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const STALLED = 500
/** So many of them also ask for more than they read. */
const GREEDY = 20
const GROWTH_MB_MAX = 120
/** Of 100 ms: longer than it takes until the last ping is overdue. */
const TICKS = 120
const AT_ONCE = 20

const tokenOf = (player: number) => createHash('sha256').update(`token ${player}`).digest('hex')

const SEED = `
  with made as (
    insert into accounts (username, username_key, password_hash, roles)
    select 'p' || n, 'p' || n, '', '{PLAYER}' from generate_series(1, $1::integer) as n
    returning account_id, substr(username, 2) as n
  )
  insert into tokens (token_hash, account_id, expires_at)
  select sha256(encode(sha256(('token ' || n)::bytea), 'hex')::bytea), account_id, now() + interval '1 hour' from made`

test(
  `${STALLED} clients that stop reading are closed, in bounded memory, and a neighbour misses no tick`,
  { timeout: 180_000 },
  async (t) => {
    const at = await freshDatabase(migrationFolders())
    const database = new Client(at)
    await database.connect()
    atEnd(t, () => database.end())
    await database.query(SEED, [STALLED + 2])
    const reeve = spawnReeve(t, await dataFolder(t), {
      DATABASE_URL: urlOf(at),
      DOORS: 'arena',
      SESSION_TICKS: String(TICKS),
    })
    const { url } = await reeve.ready()
    const player = (n: number) => ({ token: tokenOf(n) })
    const joined = async (n: number) =>
      assert.equal((await join(url, player(n), { mode: 'normal', timeoutSeconds: 120 })).status, 200)
    const clients: RawClient[] = []
    for (let n = 1; n <= STALLED; n += AT_ONCE) {
      const some = Array.from({ length: AT_ONCE }, (_, index) => n + index)
      clients.push(...(await Promise.all(some.map((one) => rawClient(t, url, tokenOf(one))))))
      await Promise.all(some.map(joined))
    }
    const neighbours = [await connect(t, url, player(STALLED + 1)), await connect(t, url, player(STALLED + 2))]
    for (const n of [STALLED + 1, STALLED + 2]) await joined(n)
    for (const line of neighbours) await line.event('session.started')
    const rssMb = () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${reeve.pid}/status`, 'utf8'))?.[1]) / 1024
    const before = rssMb()

    const echo = JSON.stringify({ t: 'event', seq: 1, event: 'echo', p: { message: 'x'.repeat(60_000) } })
    for (const [index, { socket, frame }] of clients.entries()) {
      socket.pause()
      if (index < GREEDY) for (let n = 0; n < 150; n += 1) socket.write(frame(1, echo))
    }
    let most = 0
    await until('all of them are closed', async () => {
      most = Math.max(most, rssMb())
      const text = await (await fetch(`${url}/metrics`, { headers: { accept: 'text/plain' } })).text()
      const closed = [...text.matchAll(/^arena_sockets_closed_total\{reason="(?:queue|ping)"\} (\d+)/gm)]
      return closed.reduce((sum, match) => sum + Number(match[1]), 0) === STALLED
    })
    for (const line of neighbours) await line.event('session.ended')

    t.diagnostic(`${before.toFixed(0)} MB before, ${most.toFixed(0)} MB at most`)
    assert(most - before < GROWTH_MB_MAX, `${before} MB became ${most} MB`)
    for (const line of neighbours) {
      const ticks = line.messages.filter(({ event }) => event === 'session.state').map(({ p }) => p.tick)
      assert.deepEqual(
        ticks,
        Array.from({ length: TICKS }, (_, index) => index + 1),
      )
    }
  },
)
