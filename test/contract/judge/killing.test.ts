// judge INV-10: whatever runs can be killed at any time, and more than once.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { boxedProcesses, cannotTest, setup, type Rig } from '../../judge/rig.ts'
import { until } from '../../support/until.ts'

const SAFETY = { skip: cannotTest, timeout: 120_000 }

describe('judge INV-10: killing', SAFETY, () => {
  const startEndless = ({ run }: Rig) => run(['/bin/sh', '-c', 'sleep 1000 & wait'], { wallMs: 100_000 })

  test('judge INV-10: a signal ends the run with its reason, and the next box works', async (t) => {
    const aborter = new AbortController()
    const rig = await setup(t, { signal: aborter.signal })
    const ended = startEndless(rig)
    await until('the program runs', () => boxedProcesses().some(({ name }) => name === 'sleep'))

    aborter.abort(new Error('the lease is lost'))

    await assert.rejects(ended, /the lease is lost/)
    await assert.rejects(rig.run(['/bin/true']), /the lease is lost/)
    await rig.box.close()
    await rig.box.close()
    const next = await setup(t)
    assert.equal((await next.run(['/bin/true'])).report.verdict, 'OK')
  })

  test('judge INV-10: closing a box kills what runs in it, and may be repeated', async (t) => {
    const rig = await setup(t)
    const ended = startEndless(rig)
    await until('the program runs', () => boxedProcesses().some(({ name }) => name === 'sleep'))

    await Promise.all([rig.box.close(), rig.box.close()])

    assert.match((await ended).report.sandboxError, /killed on request/)
    await assert.rejects(rig.run(['/bin/true']), /closed/)
  })

  test('judge INV-10: closing a runner kills what runs in it, and may be repeated', async (t) => {
    const rig = await setup(t)
    const ended = startEndless(rig)
    await until('the program runs', () => boxedProcesses().some(({ name }) => name === 'sleep'))

    await Promise.all([rig.runner.close(), rig.runner.close()])

    assert.match((await ended).report.sandboxError, /killed on request/)
    await rig.box.close()
    await assert.rejects(rig.runner.open({ workFolder: rig.work, writable: false, readOnlyPaths: [] }), /closed/)
  })
})
