// A server whose doors are not all open: a command of a closed one says so, where the server can only say 404.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { ReeveClient } from '@reeve/sdk'
import { newAccount, startReeve } from '../support/reeve.ts'
import { temporaryFolder } from '../support/servers.ts'
import { reeve } from './reeve-command.ts'

async function onlyDoor(t: TestContext, doors: string) {
  const server = await startReeve(t, { doors })
  const { token } = await newAccount(server.url, 'chief', ['ADMIN', 'CHALLENGER', 'WORKER_OWNER', 'OPERATOR'])
  const { api_key: key } = await new ReeveClient({ url: server.url, token }).account.createApiKey({ name: 'test' })
  const folder = await temporaryFolder(t)
  const file = join(folder, 'key')
  await writeFile(file, key)
  const run = (...args: string[]) =>
    reeve([...args, '--url', server.url, '--api-key-file', file], { env: { REEVE_DATA_DIR: join(folder, 'data') } })
  return { ...server, folder, run }
}

test('a command of a door that the server has not opened names the door and the server', async (t) => {
  const { url, env, folder, run } = await onlyDoor(t, 'desk')
  const key = join(folder, 'worker.key')
  assert.equal((await reeve(['worker', 'keygen', '--key', key])).code, 0)
  const program = join(folder, 'sum.py')
  await writeFile(program, 'print(1)')
  const cases = [
    ['challenge', ['challenge', 'list']],
    ['challenge', ['challenge', 'dead']],
    ['judge', ['problem', 'list']],
    ['judge', ['submit', program, '--problem', 'sum']],
    ['pool', ['worker', 'list']],
    ['pool', ['worker', 'register', '--name', 'w1', '--key', key]],
    ['pool', ['worker', 'run', '--worker', '1', '--key', key, '--exec', 'cat']],
    ['arena', ['play', '--bot', '1']],
  ] as const
  const ran = await Promise.all(cases.map(([, args]) => run(...args)))
  const here = await reeve(['problem', 'list'], { env })
  const missing = await run('desk', 'remove', 'shop.org')

  for (const [index, [door, args]] of cases.entries()) {
    const said = `The ${door} door is not open on ${url}: see DOORS and the log of that server.\n`
    assert.deepEqual(ran[index], { code: 1, stdout: '', stderr: said }, args.join(' '))
  }
  assert.equal(here.code, 1)
  assert.match(here.stderr, /^The judge door is not open on /)
  assert.equal(missing.code, 1)
  assert.match(missing.stderr, /^404: /)
})
