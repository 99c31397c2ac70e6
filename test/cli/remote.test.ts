// Commands against a server elsewhere: a key file or a stored login in place of a database, and a sentence for what goes wrong.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import { existsSync } from 'node:fs'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { newAccount, PASSWORD, startReeve } from '../support/reeve.ts'
import { temporaryFolder } from '../support/servers.ts'
import { reeve } from './reeve-command.ts'
import { atEnd } from '../support/cleanup.ts'

const LIST = 'username,password,roles\nann,,CLIENT\nbob,a long password,\n'

/** A machine with no database: an empty folder for data, another for configuration. */
async function elsewhere(t: TestContext) {
  const folder = await temporaryFolder(t)
  const env = { REEVE_DATA_DIR: join(folder, 'data'), XDG_CONFIG_HOME: join(folder, 'config') }
  const file = async (name: string, text: string) => {
    await writeFile(join(folder, name), text)
    return join(folder, name)
  }
  return { folder, env, file, run: (args: readonly string[], stdin = '') => reeve(args, { env, stdin }) }
}

async function deployment(t: TestContext) {
  const server = await startReeve(t)
  await newAccount(server.url, 'chief', ['ADMIN', 'CHALLENGER', 'WORKER_OWNER', 'OPERATOR'])
  return server
}

async function fakeServer(t: TestContext, status: number, type: string, body: string): Promise<string> {
  const server = createServer((_request, response) => {
    response.writeHead(status, { 'content-type': type, 'retry-after': '7' }).end(body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  atEnd(t, () => server.close())
  const address = server.address()
  assert(typeof address === 'object' && address !== null)
  return `http://127.0.0.1:${address.port}`
}

const json = (ran: { code: number | null; stdout: string; stderr: string }) => {
  assert.equal(ran.code, 0, ran.stderr)
  return JSON.parse(ran.stdout)
}

describe('a server elsewhere', () => {
  test('login stores a key that only the user can read, every command uses it, and logout revokes it', async (t) => {
    const { url } = await deployment(t)
    const { env, run, file, folder } = await elsewhere(t)

    const wrong = await run(['login', url, '--username', 'chief', '--password-stdin'], 'guess')
    const login = await run(['login', url, '--username', 'chief', '--password-stdin'], `${PASSWORD}\n`)
    assert.deepEqual([wrong.code, wrong.stderr], [1, '401: Invalid credentials\n'])
    assert.equal(login.code, 0, login.stderr)
    const stored = join(env.XDG_CONFIG_HOME, 'reeve/logins.json')
    assert.equal((await stat(stored)).mode & 0o777, 0o600)
    const [{ api_key: key }] = JSON.parse(await readFile(stored, 'utf8'))

    const imported = json(await run(['user', 'import', await file('list.csv', LIST), '--json']))
    assert.match(imported[0].password_link.url, /\/console\/password-link#/)
    assert.equal(json(await run(['user', 'passwd', 'BOB', '--json'])).username, 'bob')
    assert.match((await run(['user', 'passwd', 'bob', '--link'])).stdout, /^http.*#[0-9a-f]{64}\n$/)
    assert.equal((await run(['user', 'delete', 'bob'])).code, 2)
    assert.equal((await run(['user', 'delete', 'bob', '--yes'])).code, 0)
    const names = json(await run(['user', 'list', '--json'])).map(({ username }: { username: string }) => username)
    assert.deepEqual([names.includes('ann'), names.includes('bob')], [true, false])

    const payload = await file('payload.json', '{"hello": "world"}')
    const done = json(await run(['job', 'submit', 'echo', payload, '--wait', '--json', '--url', url]))
    assert.deepEqual([done.state, done.result.hello], ['done', 'world'])
    const watched = await run(['job', 'watch', done.job_id])
    assert.match(watched.stdout, /submitted[^]*done/)
    const late = json(await run(['job', 'submit', 'echo', '-', '--delay', '3600', '--json'], '{}'))
    assert.equal(json(await run(['job', 'cancel', late.job_id, '--json']))[0].state, 'dead')
    assert.equal((await run(['job', 'watch', late.job_id])).code, 3)
    assert.equal(json(await run(['job', 'list', '--state', 'dead', '--json']))[0].job_id, late.job_id)
    assert.equal(json(await run(['job', 'replay', late.job_id, '--json'])).length, 1)

    for (const args of [
      ['challenge', 'list'],
      ['challenge', 'dead'],
      ['delivery', 'list'],
      ['desk', 'list'],
      ['desk', 'tasks'],
      ['problem', 'list'],
      ['worker', 'list'],
    ])
      assert(Array.isArray(json(await run([...args, '--json']))), args.join(' '))
    const workerKey = join(folder, 'worker.key')
    assert.equal((await run(['worker', 'keygen', '--key', workerKey])).code, 0)
    assert.equal(json(await run(['worker', 'register', '--name', 'w1', '--key', workerKey, '--json'])).name, 'w1')
    assert.equal(json(await run(['worker', 'list', '--all', '--json']))[0].owner, 'chief')
    assert.equal(json(await run(['config', '--url', url, '--json']))['REGISTRATION'], 'open')
    assert.equal(json(await run(['doctor', '--url', url, '--json']))[0].what, 'server')

    assert.equal((await run(['logout'])).code, 0)
    const after = await fetch(`${url}/auth/me`, { headers: { 'x-api-key': key } })
    assert.equal(after.status, 401)
    const none = await run(['job', 'list'])
    assert.deepEqual([none.code, existsSync(env.REEVE_DATA_DIR)], [1, false])
    assert.match(none.stderr, /^There is no database in .*reeve login/)
  })
})

describe('an error is one sentence, with exit code 1, or 2 for wrong usage', () => {
  test('a missing file, no server, another server, a rate limit, an unexpected answer', async (t) => {
    const { run, file } = await elsewhere(t)
    const key = await file('key', 'no-key')
    const at = (url: string, ...args: string[]) => run([...args, '--url', url, '--api-key-file', key])
    const page = await fakeServer(t, 200, 'text/html', '<h1>Welcome</h1>')
    const limited = await fakeServer(t, 429, 'application/json', '{"detail": "Too many requests"}')
    const odd = await fakeServer(t, 200, 'application/json', '{}')
    const cases: [Promise<{ code: number | null; stdout: string; stderr: string }>, number, RegExp][] = [
      [at('http://127.0.0.1:1', 'job', 'list'), 1, /^No answer from http:\/\/127\.0\.0\.1:1( \(ECONNREFUSED\))?: is/],
      [at(page, 'job', 'list'), 1, /is not a Reeve server: it answered text\/html/],
      [at(limited, 'user', 'list'), 1, /^429: Too many requests/],
      [at(odd, 'challenge', 'list'), 1, /gave an answer that is not understood/],
      [at('nonsense', 'job', 'list'), 2, /^nonsense is not a URL/],
      [at(odd, 'job', 'submit', 'echo', '/no/such'), 1, /^Cannot read \/no\/such: there is no such file/],
      [at(odd, 'user', 'import', '/no/such'), 1, /^Cannot read \/no\/such/],
      [at(odd, 'submit', '/no/such.py', '--problem', 'p'), 1, /^Cannot read \/no\/such\.py/],
      [run(['job', 'list', '--url', page, '--api-key-file', '/no/key']), 1, /^Cannot read the key file \/no\/key/],
      [run(['verify', 'receipt', '/no/such']), 1, /^Cannot read \/no\/such/],
      [run(['user', 'add', 'x', '--role', 'KING']), 2, /^Unknown role "KING"/],
      [run(['job', 'fly']), 2, /unknown command|too many arguments/],
    ]
    for (const [ran, code, said] of cases) {
      const { code: got, stdout, stderr } = await ran
      assert.match(stderr, said)
      assert.deepEqual([got, stdout], [code, ''], stderr)
      assert.doesNotMatch(stderr, /\n +at /)
    }
  })
})

test('every command says what it is for', async (t) => {
  const { run } = await elsewhere(t)
  const { stdout } = await run(['--help'])
  const commands = [...stdout.matchAll(/^ {2}([a-z]+)(?: \[options\])?/gm)].map(([, name]) => name ?? '')
  assert(commands.length > 18, commands.join(' '))
  for (const name of commands.filter((command) => command !== 'help')) {
    const help = await run([name, '--help'])
    assert.deepEqual([help.code, help.stderr], [0, ''], name)
    assert.match(help.stdout, new RegExp(`^Usage: reeve ${name}`))
  }
})
