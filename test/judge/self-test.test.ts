// The sandbox is attacked before it is used: one that does not hold, or cannot be built, is refused with a reason.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import type { RunReport, BoxRunner } from '../../src/doors/judge/sandbox/box.ts'
import { buildHelper } from '../../src/doors/judge/sandbox/build.ts'
import { openSandbox } from '../../src/doors/judge/sandbox/sandbox.ts'
import { selfTest } from '../../src/doors/judge/sandbox/self-test.ts'
import { atEnd } from '../support/cleanup.ts'
import { footing, options, SAFETY } from './rig.ts'

const NOBODY = 61_234

function makeFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-self-test-'))
  chmodSync(folder, 0o755)
  atEnd(t, () => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const OK: RunReport = {
  verdict: 'OK',
  timeMs: 0,
  wallMs: 0,
  memKb: 0,
  exitCode: 0,
  exitSignal: 0,
  sandboxError: '',
  outputBytes: 0,
  starved: false,
  degraded: false,
  same: false,
}

/** A sandbox that is none: it runs the program as another user of the host, if at all, and finds everything in order. */
const noSandbox = (answer: (trial: string) => Partial<RunReport>): BoxRunner => ({
  close: async () => {},
  open: async ({ workFolder }) => ({
    close: async () => {},
    async run({ argv, stdoutPath }) {
      const [, trial = '', ...rest] = argv
      chmodSync(join(workFolder, '..'), 0o755)
      const output =
        trial === 'escape' ? bareRun([join(workFolder, 'probe'), trial, ...rest]) : { status: 0, stdout: '' }
      if (stdoutPath !== null)
        spawnSync('tee', [stdoutPath], { input: output.stdout, stdio: ['pipe', 'ignore', 'ignore'] })
      return { ...OK, verdict: output.status === 0 ? 'OK' : 'RE', ...answer(trial) }
    },
    runSeries: async () => {}, // the self-test has none
  }),
})

const bareRun = ([program = '', ...args]: readonly string[]) =>
  spawnSync(program, args, { ...(footing === 'root' ? { uid: NOBODY, gid: NOBODY } : {}), encoding: 'utf8', cwd: '/' })

describe('before the sandbox is used', SAFETY, () => {
  test('a program that escapes is detected, and the error says what it could do', async (t) => {
    const folder = makeFolder(t)
    const { probe } = await buildHelper(folder)
    const runner = noSandbox(() => ({}))

    const tested = selfTest(runner, { probe, folder, degraded: false })

    await assert.rejects(
      tested,
      /does not hold \(staying inside\): .*opening a file of the host succeeded.*a socket succeeded/s,
    )
  })

  for (const [trial, name] of [
    ['memory', 'the memory limit'],
    ['spin', 'the CPU limit'],
    ['output', 'the output limit'],
  ] as const) {
    test(`${name} that does not hold is detected`, async (t) => {
      const folder = makeFolder(t)
      const { probe } = await buildHelper(folder)
      const expected = { escape: 'OK', memory: 'MLE', spin: 'TLE', processes: 'OK', output: 'OLE' } as const
      const right = new Map<string, RunReport['verdict']>(Object.entries(expected))
      const runner = noSandbox((tried) => ({ verdict: tried === trial ? 'OK' : (right.get(tried) ?? 'SE') }))

      await assert.rejects(
        selfTest(runner, { probe, folder, degraded: false }),
        new RegExp(`does not hold \\(${name}\\)`),
      )
    })
  }

  test('the real sandbox holds, in both of its modes', async (t) => {
    const cacheFolder = makeFolder(t)

    for (const mode of ['agent', 'exec'] as const) {
      const sandbox = await openSandbox(options({ cacheFolder, mode }))
      assert.match(sandbox.about, footing === 'degraded' ? /^without cgroups/ : /^cgroup v[12]$/)
      assert.equal(sandbox.degraded, footing === 'degraded')
    }
  })

  test('without a compiler it says what to install', async (t) => {
    const folder = makeFolder(t)
    const path = process.env['PATH']
    atEnd(t, () => (process.env['PATH'] = path))
    process.env['PATH'] = folder

    await assert.rejects(buildHelper(folder), /cannot be compiled.*cc.*ENOENT.*apt-get install gcc libc6-dev/s)
  })

  test('the helper is compiled once, and the next start finds it', async (t) => {
    const folder = makeFolder(t)
    const first = await buildHelper(folder)
    const built = readFileSync(first.box)

    const second = await buildHelper(folder)

    assert.deepEqual(second, first)
    assert(readFileSync(second.box).equals(built))
  })
})
