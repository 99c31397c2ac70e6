// `reeve desk`, as a person runs it.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, test, type TestContext } from 'node:test'
import { staffed, urlOf } from '../contract/desk/setup.ts'
import { REEVE, ROOT } from '../support/program.ts'

async function setup(t: TestContext) {
  const desk = await staffed(t)
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, DATABASE_URL: urlOf(desk.at), REEVE_DATA_DIR: desk.dataDir }
  const reeve = (...args: string[]) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [...REEVE, 'desk', ...args], {
      cwd: ROOT,
      encoding: 'utf8',
      env,
    })
    return { status, stdout, stderr }
  }
  return { ...desk, reeve }
}

describe('reeve desk', () => {
  test('allow, list and remove keep the list, and the door follows it at once', async (t) => {
    const { reeve, scraper, admin } = await setup(t)
    const send = async () => (await scraper.post('/api/v1/captcha/tasks', { url: 'https://shop.org/' })).status

    const before = await send()
    const allowed = reeve('allow', 'Shop.ORG', '--reason', 'we run it')
    const listed = reeve('list', '--json')
    const meanwhile = await send()
    const removed = reeve('remove', 'shop.org')
    const { body } = await admin.get('/api/v1/captcha/audit?action=domain_removed')

    assert.deepEqual([before, meanwhile, await send()], [403, 201, 403])
    assert.deepEqual([allowed.status, allowed.stdout], [0, 'shop.org is on the list.\n'])
    const [entry] = JSON.parse(listed.stdout)
    assert.deepEqual([entry.domain, entry.reason], ['shop.org', 'we run it'])
    assert.match(entry.added_by, /\(command line\)$/)
    assert.deepEqual([removed.status, body.entries[0].domain], [0, 'shop.org'])
  })

  test('wrong usage exits with 2, a failure with 1', async (t) => {
    const { reeve } = await setup(t)

    assert.equal(reeve('allow', '*.org', '--reason', 'all of it').status, 2)
    assert.equal(reeve('remove', 'shop.org').status, 1)
  })

  test('tasks lists the tasks of a status, with domain and operator', async (t) => {
    const { reeve, create, assign } = await setup(t)
    const { uuid } = await create({ url: 'https://one.example/' })
    await create({ url: 'https://two.example/' })
    await assign(uuid)

    const { status, stdout } = reeve('tasks', '--status', 'in_progress')

    assert.equal(status, 0)
    assert.match(stdout, new RegExp(`${uuid} +in_progress +5 +one\\.example +ann `))
    assert(!stdout.includes('two.example'))
  })
})
