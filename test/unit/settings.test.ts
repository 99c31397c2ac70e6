import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { CORE_SETTINGS, databaseUrl, InvalidConfig, parseConfig, redisUrl } from '../../src/core/config.ts'
import { DOOR_NAMES } from '../../src/doors/outline.ts'
import { flag, integer, list, nearestName, oneOf, text } from '../../src/core/settings.ts'
import { startReeve } from '../support/reeve.ts'

const problemsOf = (env: Record<string, string>): string[] => {
  try {
    parseConfig(env, {}, DOOR_NAMES)
    return []
  } catch (error) {
    assert(error instanceof InvalidConfig)
    const [title, ...problems] = error.message.split('\n  ')
    assert.equal(title, 'Invalid configuration:')
    return problems
  }
}
const core = (env: Record<string, string>) => parseConfig(env, {}).core

describe('parsing the environment', () => {
  test('with nothing set, every setting has its default, which is itself valid', () => {
    const config = core({ PATH: '/bin', HOME: '/root' })

    assert.deepEqual(
      config,
      Object.fromEntries(Object.entries(CORE_SETTINGS).map(([name, setting]) => [name, setting.or])),
    )
    for (const { or, parse } of Object.values(CORE_SETTINGS)) assert.deepEqual(parse(String(or)), or)
  })

  test('an empty value is the default', () => {
    assert.equal(core({ SERVER_PORT: '' }).SERVER_PORT, 8080)
  })

  test('all problems are named in one message', () => {
    const problems = problemsOf({ SERVER_PORT: '80800', TRUST_PROXY: 'yes', DOORS: 'judge,desks', LOG_LEVEL: 'loud' })

    assert.deepEqual(problems, [
      'SERVER_PORT: expected an integer from 0 to 65535, got "80800"',
      'TRUST_PROXY: expected true or false, got "yes"',
      'LOG_LEVEL: expected one of trace, debug, info, warn, error, silent, got "loud"',
      'DOORS: expected a comma-separated list of judge, challenge, pool, desk, arena, got "judge,desks"',
    ])
  })

  test('a start with an unknown door is refused, and says which doors there are', async (t) => {
    await assert.rejects(startReeve(t, { doors: 'judge,desks' }), {
      name: 'StartError',
      message: 'DOORS: unknown door "desks", expected judge, challenge, pool, desk, arena',
    })
  })

  test('a misspelt setting is refused with the nearest name, and variables of other programs are ignored', () => {
    const problems = problemsOf({
      SERVER_PROT: '1',
      JOB_LEASE_SECS: '30',
      REEVE_XYZZY: '1',
      SHELL: '/bin/sh',
      LANG: 'C',
    })

    assert.deepEqual(problems, [
      'SERVER_PROT: unknown setting, did you mean SERVER_PORT?',
      'JOB_LEASE_SECS: unknown setting, did you mean JOB_LEASE_SEC?',
      'REEVE_XYZZY: unknown setting',
    ])
  })

  test('the value of a secret, or of a misspelt secret, is never repeated', () => {
    const settings = { SOME_SECRET_KEY: text({ or: '', about: 'a', secret: true, pattern: /^[0-9]+$/ }) }
    const env = { SOME_SECRET_KEY: 'hunter2', REEVE_ADMIN_PASWORD: 'hunter2' }

    assert.throws(
      () => parseConfig(env, settings),
      (error) =>
        error instanceof InvalidConfig &&
        !error.message.includes('hunter2') &&
        error.message.includes('SOME_SECRET_KEY: expected a match of') &&
        error.message.includes('did you mean REEVE_ADMIN_PASSWORD?'),
    )
  })

  test('a heartbeat is at most a third of the lease, whichever of the two is set', () => {
    const tooSlow = (lease: number, heartbeat: number) => [
      `JOB_HEARTBEAT_SEC: at most a third of JOB_LEASE_SEC (${lease}), got ${heartbeat}`,
    ]

    assert.deepEqual(problemsOf({ JOB_LEASE_SEC: '59' }), tooSlow(59, 20))
    assert.deepEqual(problemsOf({ JOB_HEARTBEAT_SEC: '21' }), tooSlow(60, 21))
    assert.deepEqual(problemsOf({ JOB_LEASE_SEC: '63', JOB_HEARTBEAT_SEC: '21' }), [])
  })

  test('a door’s settings are read beside the core’s, and known by name', () => {
    const settings = { POOL_LIMIT: integer({ min: 1, max: 9, or: 3, about: 'a' }) }

    assert.equal(parseConfig({ POOL_LIMIT: '4' }, settings).doors.POOL_LIMIT, 4)
    assert.throws(
      () => parseConfig({ POOL_LIMIT: '10', POOL_LIMITS: '1' }, settings),
      /POOL_LIMITS: unknown.*\n.*POOL_LIMIT: expected/,
    )
  })
})

describe('a setting', () => {
  const parsed = (setting: { parse(raw: string): unknown }, raws: readonly string[]) =>
    raws.map((raw) => setting.parse(raw))

  test('an integer is digits within its range, and nothing that merely looks like a number', () => {
    const expected = { expected: 'an integer from -1 to 20' }
    const setting = integer({ min: -1, max: 20, or: 0, about: 'a' })

    assert.deepEqual(parsed(setting, ['-1', '20', '007']), [-1, 20, 7])
    for (const raw of ['-2', '21', '1e1', '0x1', '1.0', ' 1', '+1', '９'])
      assert.deepEqual(setting.parse(raw), expected)
  })

  test('flags, choices and lists accept their exact values only', () => {
    const choice = oneOf({ values: ['a', 'b'], or: 'a', about: 'a' })
    const names = list({ or: [], about: 'a', values: ['a', 'b'] })

    assert.deepEqual(parsed(flag({ or: false, about: 'a' }), ['true', 'false', 'TRUE', '1']), [
      true,
      false,
      { expected: 'true or false' },
      { expected: 'true or false' },
    ])
    assert.deepEqual(parsed(choice, ['b', 'B']), ['b', { expected: 'one of a, b' }])
    assert.deepEqual(parsed(names, ['a, b,', 'a,c']), [['a', 'b'], { expected: 'a comma-separated list of a, b' }])
  })

  test('a name is near another if it is two edits away and long enough for that to mean something', () => {
    const known = ['JOB_LEASE_SEC', 'DB_HOST']

    assert.equal(nearestName('JOB_LEASES_SEC', known), 'JOB_LEASE_SEC')
    assert.equal(nearestName('JOB_LAESE_SEC', known), 'JOB_LEASE_SEC')
    assert.equal(nearestName('JOB_LEASE_MSEC_', known), 'JOB_LEASE_SEC')
    assert.equal(nearestName('JOB_RELEASED', known), null)
    assert.equal(nearestName('DB_HOSTS', known), 'DB_HOST')
    assert.equal(nearestName('DBHOST', known), null)
  })
})

describe('the addresses of PostgreSQL and Redis', () => {
  test('a URL wins over a host; a host makes a URL; nothing means the embedded one', () => {
    assert.equal(databaseUrl(core({})), null)
    assert.equal(databaseUrl(core({ DATABASE_URL: 'postgres://x/y', DB_HOST: 'h' })), 'postgres://x/y')
    assert.equal(redisUrl(core({})), null)
    assert.equal(redisUrl(core({ REDIS_URL: 'redis://r', REDIS_HOST: 'h' })), 'redis://r')
    assert.equal(redisUrl(core({ REDIS_HOST: 'h', REDIS_PORT: '1' })), 'redis://h:1')
  })

  test('a password with any character in it survives the way into the URL', () => {
    const url = databaseUrl(core({ DB_HOST: 'h', DB_USER: 'a@b', DB_PASSWORD: 'p:/?#[]@%', DB_NAME: 'd/b' }))

    assert(url !== null)
    const { username, password, host, pathname } = new URL(url)
    assert.deepEqual([username, password, host, pathname].map(decodeURIComponent), [
      'a@b',
      'p:/?#[]@%',
      'h:5432',
      '/d/b',
    ])
  })
})
