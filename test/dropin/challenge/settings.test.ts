// The environment of an existing deployment starts Reeve as it is.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { parseConfig } from '../../../src/core/config.ts'
import { doorSettings } from '../../../src/doors/outline.ts'
import { startServer, nowSec, postSigned, solveBody } from '../../contract/challenge/setup.ts'

const EXISTING = {
  SOLVER_HOST: '0.0.0.0',
  SOLVER_PORT: '8081',
  CHALLENGER_HOST: '0.0.0.0',
  CHALLENGER_PORT: '8080',
  OUTBOX_ENABLED: 'true',
}

describe('the settings of an existing deployment', () => {
  test('hosts, ports and OUTBOX_ENABLED are named in one warning, with what takes their place', () => {
    const { warnings } = parseConfig(EXISTING, doorSettings())
    const none = parseConfig({ SOLVER_PORT: '' }, doorSettings())

    assert.equal(warnings.length, 1)
    for (const name of [...Object.keys(EXISTING), 'SERVER_PORT']) assert.match(warnings[0] ?? '', new RegExp(name))
    assert.deepEqual(none.warnings, [])
  })

  test('the warning is logged at start, once, and the ports are not listened on', async (t) => {
    const lines: string[] = []
    const env = { ...EXISTING, CLOCK_SKEW_SECONDS: '0', LOG_LEVEL: 'WARNING' }

    const { url } = await startServer(t, { role: 'serve', env, lines })

    const warned = lines.filter((line) => line.includes('SOLVER_PORT'))
    assert.equal(warned.length, 1)
    assert.equal(JSON.parse(warned[0] ?? '').level, 'warn')
    assert(!url.endsWith(':8081') && !url.endsWith(':8080'))
  })

  test('LOG_LEVEL is taken in any case, and warning for warn', () => {
    const levelOf = (level: string) => parseConfig({ LOG_LEVEL: level }, doorSettings()).core.LOG_LEVEL

    assert.deepEqual(['WARN', 'Warning', 'info', 'ERROR'].map(levelOf), ['warn', 'warn', 'info', 'error'])
    assert.throws(() => levelOf('loud'), /LOG_LEVEL: expected one of/)
  })

  test('CLOCK_SKEW_SECONDS=0 means 300', async (t) => {
    const { url } = await startServer(t, { role: 'serve', env: { CLOCK_SKEW_SECONDS: '0' } })
    const statusAt = async (offSec: number) =>
      (await postSigned(url, '/solve', solveBody('c1', 'https://a.example/callback/c1'), { ts: nowSec() + offSec }))
        .status

    assert.deepEqual([await statusAt(-280), await statusAt(-320)], [202, 401])
  })
})
