import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Overloaded } from '../../../src/core/values/outcome.ts'
import { httpErrorFrom } from '../../../src/core/http/errors/handle-error.ts'
import { formatByPath, type ErrorFormat } from '../../../src/core/http/errors/error-format.ts'
import { atEnd } from '../../support/cleanup.ts'
import { testDatabase } from '../../support/database.ts'

const failing = (message: string, code?: string) =>
  Object.assign(new Error(message), code === undefined ? {} : { code })

describe('problems', () => {
  test('a transient failure is 503 with Retry-After; any other is 500; neither says why', () => {
    for (const error of [
      new Overloaded('too many'),
      failing('secret', 'ECONNREFUSED'),
      failing('Connection terminated unexpectedly'),
      failing('timeout exceeded when trying to connect'),
    ]) {
      const { status, code, message, headers } = httpErrorFrom(error)
      assert.deepEqual([status, code, headers['retry-after']], [503, 'unavailable', '1'])
      assert(!message.includes('secret'))
    }
    for (const error of [failing('secret'), failing('secret', 'ENOENT'), 'secret', null, undefined]) {
      const { status, message } = httpErrorFrom(error)
      assert.deepEqual([status, message], [500, 'Internal server error'])
    }
  })

  test('a request that cannot have its lock in time is 503 with Retry-After', async (t) => {
    const { database } = await testDatabase(t)
    const locked = await database.connect()
    atEnd(t, () => locked.end())
    await locked.query('begin; lock table accounts in access exclusive mode')

    const waiting = database.transaction(async (tx) => {
      await tx.query(`set local lock_timeout = '10ms'`)
      await tx.query('select from accounts')
    })
    const error: unknown = await waiting.then(
      () => assert.fail('it waits for no lock'),
      (thrown: unknown) => thrown,
    )

    const { status, code, headers } = httpErrorFrom(error)
    assert.deepEqual([status, code, headers['retry-after']], [503, 'unavailable', '1'])
  })

  test('the longest matching path decides the error format', () => {
    const words = (paths: string[]): ErrorFormat => ({ paths, errorBody: () => ({ paths }), validationStatus: 400 })
    const [api, desk, exact, other] = [words(['/api/']), words(['/api/v1/captcha/']), words(['/ws']), words([])]
    const of = formatByPath([api, desk, exact], other)

    assert.equal(of('/api/x?y=/api/v1/captcha/'), api)
    assert.equal(of('/api/v1/captcha/tasks'), desk)
    assert.equal(of('/ws?x'), exact)
    assert.equal(of('/ws/captcha'), other)
    assert.equal(of('/'), other)
  })
})
