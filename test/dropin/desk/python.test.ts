// The Python helpers, run by a real python3 against a real server.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { staffed } from '../../contract/desk/setup.ts'
import { ROOT } from '../../support/program.ts'
import { until } from '../../support/until.ts'

const TASKS = '/api/v1/captcha/tasks'
const PROGRAM = `${ROOT}/test/dropin/desk/program.py`
const CLEARANCE = { payload: [{ name: 'cf_clearance', value: 'good' }], user_agent: 'Agent/1' }

const setup = async (t: Parameters<typeof staffed>[0]) => {
  const desk = await staffed(t)
  const python = async (command: string) => {
    const env = {
      PATH: process.env['PATH'],
      PYTHONPATH: `${ROOT}/sdk/python`,
      PYTHONDONTWRITEBYTECODE: '1',
      REEVE_URL: desk.url,
      REEVE_TOKEN: desk.scraper.token,
    }
    const { stdout } = await promisify(execFile)('python3', [PROGRAM, command], { env })
    return JSON.parse(stdout)
  }
  /** The newest task, once there is one that can be solved. */
  const pending = async (): Promise<string> => {
    let uuid: string | null = null
    await until('a task', async () => {
      const { body } = await desk.operator.get(`${TASKS}/pending`)
      uuid = body.tasks[0]?.uuid ?? null
      return uuid !== null
    })
    return uuid ?? ''
  }
  return { ...desk, python, pending }
}

test('desk 8.8: a Python program checks the cache, creates a task and waits for the session of its domain', async (t) => {
  const { python, pending, solve, operator } = await setup(t)

  assert.equal(await python('check'), null)
  const created = await python('create')
  const waiting = [python('wait'), python('poll')]
  await solve(await pending(), operator, CLEARANCE)

  assert.deepEqual([created.domain, created.priority, created.status], ['shop.example', 7, 'pending'])
  assert.deepEqual(await Promise.all(waiting), [{ clearance: 'good', valid: true }, { clearance: 'good' }])
  assert.deepEqual((await python('check')).cookies, { cf_clearance: 'good' })
  assert.equal(await python('late'), null)
  assert.equal(await python('refused'), null)
})

test('desk 8.8: create_task_and_wait gets the session, and its cookies go into the headers', async (t) => {
  const { python, pending, solve, operator } = await setup(t)

  const waiting = python('create_and_wait')
  await solve(await pending(), operator, {
    payload: [
      { name: 'a', value: '1' },
      { name: 'cf_clearance', value: 'good' },
    ],
    user_agent: 'Agent/1',
  })
  const { headers, solution } = await waiting

  assert.deepEqual(headers, { cookie: 'a=1; b=2; cf_clearance=good', 'User-Agent': 'Agent/1' })
  assert.equal(solution.type, 'cookie')
})

test('desk 8.8: execute_with_captcha_handling asks again when the first session does not work', async (t) => {
  const { python, pending, solve, operator, admin } = await setup(t)

  const running = python('execute')
  await solve(await pending(), operator, { payload: [{ name: 'cf_clearance', value: 'bad' }] })
  await solve(await pending(), operator, CLEARANCE)

  assert.deepEqual(await running, { error_type: null, page: 'the page' })
  const { body } = await admin.get('/api/v1/captcha/audit?action=reported_bad')
  assert.equal(body.entries.length, 1)
})
