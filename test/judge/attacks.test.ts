// Attacks on the sandbox, each with the verdict that it must get; whatever they do, nothing of them is left when the test ends.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import type { RunRequest, RunReport } from '../../src/doors/judge/sandbox/box.ts'
import { attackFolder, compile, footing, MB, SAFETY, setup, workFolder } from './rig.ts'

interface Attack {
  name: string
  limits?: Partial<RunRequest>
  verdict: RunReport['verdict']
  /** Without cgroups, where limits are per process. */
  degraded?: RunReport['verdict']
  /** Of the program's standard output. */
  says?: RegExp
  check?(report: RunReport): void
}

const ATTACKS: readonly Attack[] = [
  { name: 'fork_bomb', limits: { cpuMs: 300, memoryBytes: 512 * MB }, verdict: 'TLE' },
  { name: 'threads', limits: { processesMax: 32 }, verdict: 'OK', says: /^31$/ },
  { name: 'daemons', verdict: 'OK' },
  { name: 'memory_at_once', limits: { cpuMs: 20_000 }, verdict: 'MLE', degraded: 'RE' },
  {
    name: 'memory_by_children',
    limits: { cpuMs: 20_000, ...(footing === 'degraded' ? { wallMs: 2000 } : {}) },
    verdict: 'MLE',
    degraded: 'TLE',
  },
  { name: 'memory_by_tmpfs', limits: { cpuMs: 20_000 }, verdict: 'MLE', degraded: 'OK' },
  { name: 'memory_by_memfd', limits: { cpuMs: 20_000, fileBytesMax: 40 * MB }, verdict: 'MLE', degraded: 'OK' },
  { name: 'output_bomb', verdict: 'OLE' },
  { name: 'output_bomb', limits: { fileBytesMax: 1000, outputBytesMax: 1000 }, verdict: 'OLE' },
  { name: 'error_bomb', verdict: 'OLE' },
  { name: 'sleeps', limits: { wallMs: 200 }, verdict: 'TLE', check: ({ starved }) => assert.equal(starved, false) },
  { name: 'sleeps_ignoring_signals', limits: { wallMs: 200 }, verdict: 'TLE' },
  { name: 'spin', limits: { cpuMs: 200 }, verdict: 'TLE', check: ({ timeMs }) => assert(timeMs >= 200) },
  { name: 'detached_spin', verdict: 'OK' },
  { name: 'spin_by_grandchild', limits: { cpuMs: 200 }, verdict: 'TLE' },
  { name: 'spin_by_many', limits: { cpuMs: 200 }, verdict: 'TLE' },
  { name: 'stack_overflow', verdict: 'RE', check: ({ exitSignal }) => assert.equal(exitSignal, 11) },
  { name: 'sockets', verdict: 'OK' },
  { name: 'other_processes', verdict: 'OK' },
  { name: 'writing', verdict: 'OK' },
  { name: 'calls', verdict: 'OK' },
  { name: 'call_32_bit', verdict: 'RE', check: ({ exitSignal }) => assert.equal(exitSignal, 31) },
  { name: 'call_x32', verdict: 'RE', check: ({ exitSignal }) => assert.equal(exitSignal, 31) },
  { name: 'exhaust_descriptors', verdict: 'OK' },
  { name: 'forge', verdict: 'RE', check: ({ exitCode }) => assert.equal(exitCode, 5) },
  { name: 'exits_7', verdict: 'RE', check: ({ exitCode }) => assert.equal(exitCode, 7) },
  { name: 'aborts', verdict: 'RE', check: ({ exitSignal }) => assert.equal(exitSignal, 6) },
  { name: 'kills_itself', verdict: 'RE', check: ({ exitSignal }) => assert.equal(exitSignal, 9) },
]

for (const mode of ['agent', 'exec'] as const) {
  describe(`attacks on a box (SANDBOX=${mode})`, SAFETY, () => {
    for (const { name, limits, says, check, ...expected } of ATTACKS) {
      const verdict = verdictHere(expected)
      const under = limits === undefined ? '' : ` with ${JSON.stringify(limits)}`
      test(`${name}${under} ends as ${verdict} and leaves nothing`, async (t) => {
        const { run } = await setup(t, { mode, workFolder: attackFolder() })

        const { report, stdout } = await run(['/work/attacks', name], limits)

        assert.equal(report.verdict, verdict, `${JSON.stringify(report)} ${stdout.slice(0, 500)}`)
        if (says !== undefined) assert.match(stdout, says)
        check?.(report)
        await assertStillWorks(run)
      })
    }
  })
}

/** Where it is another one without cgroups, that is what docs/judge-sandbox.md says of them. */
function verdictHere({ verdict, degraded = verdict }: Pick<Attack, 'verdict' | 'degraded'>) {
  return footing === 'degraded' ? degraded : verdict
}

/** The same box judges the next program as if nothing had been. */
async function assertStillWorks(run: Awaited<ReturnType<typeof setup>>['run']) {
  const { report, stdout } = await run(['/bin/echo', 'fine'])
  assert.equal(report.verdict, 'OK', report.sandboxError)
  assert.equal(stdout, 'fine\n')
}

describe('memory before the first instruction', SAFETY, () => {
  const program = (t: TestContext, declaration: string) => {
    const work = workFolder(t, { 'main.c': `${declaration}\nint main(void) { return 0; }\n` })
    compile(join(work, 'main.c'), join(work, 'main'))
    return work
  }

  test('800 MB of zeroed arrays are over a limit of 64 MB, touched or not', async (t) => {
    const { run } = await setup(t, { workFolder: program(t, 'char big[800 << 20];') })

    assert.equal((await run(['/work/main'])).report.verdict, 'MLE')
    assert.equal((await run(['/work/main'], { memoryBytes: 900 * MB })).report.verdict, 'OK')
  })

  test('60 GB of zeroed arrays are over the limit, too', async (t) => {
    const { run } = await setup(t, {
      workFolder: program(t, '__asm__(".bss\\n.globl big\\nbig: .zero 60*1024*1024*1024\\n.text");'),
    })

    assert.equal((await run(['/work/main'])).report.verdict, 'MLE')
  })
})

describe('what is not the program’s', SAFETY, () => {
  test('files of the host, test data among them, cannot be opened', async (t) => {
    const secret = join(workFolder(t, { answer: '42' }), 'answer')
    const { run } = await setup(t, { workFolder: attackFolder() })

    const { report, stdout } = await run([
      '/work/attacks',
      'host_files',
      secret,
      import.meta.filename,
      `/proc/${process.pid}/environ`,
      `/proc/${process.pid}/root`,
    ])

    assert.equal(report.verdict, 'OK', stdout)
  })

  for (const [size, lines] of [
    ['small', 1],
    ['large', 10_000], // it is not copied, but mounted
  ] as const)
    test(`a ${size} input cannot be changed, and its name cannot be seen`, async (t) => {
      const text = 'as it was\n'.repeat(lines)
      const input = join(workFolder(t, { 'input-7': text, secret: '42' }), 'input-7')
      const { run } = await setup(t, { workFolder: attackFolder() })

      const { report, stdout } = await run(['/work/attacks', 'rewrite_input'], { stdinPath: input })
      const { stdout: copy } = await run(['/bin/cat'], { stdinPath: input })

      assert.equal(report.verdict, 'OK', stdout)
      assert.equal(copy, text.slice(0, 100_000))
      assert.equal(readFileSync(input, 'utf8'), text)
      assert.equal(statSync(input).mode & 0o777, 0o644)
    })

  test('a box finds no socket of the one before it, and no network', async (t) => {
    const { run, reopen } = await setup(t, { workFolder: attackFolder() })

    for (let round = 0; round < 10; round += 1) {
      const left = await run(['/work/attacks', 'leave_sockets'])
      await reopen()
      const found = await run(['/work/attacks', 'find_sockets'])

      assert.equal(left.report.verdict, 'OK', left.stdout)
      assert.equal(found.report.verdict, 'OK', found.stdout)
    }
  })

  test('a run finds nothing of the one before it, and gets the same pid', async (t) => {
    const { run } = await setup(t, { workFolder: attackFolder() })

    const first = await run(['/work/attacks', 'leave_state'])
    const second = await run(['/work/attacks', 'find_state'])

    assert.equal(first.report.verdict, 'OK', first.stdout)
    assert.equal(second.report.verdict, 'OK', second.stdout)
    assert.equal(second.stdout, first.stdout, 'the pid')
  })

  test('a link in the place of an output file is not followed', async (t) => {
    const { work, run, box } = await setup(t, { writable: true })
    writeFileSync(join(work, 'attacks'), readFileSync(join(attackFolder(), 'attacks')), { mode: 0o755 })
    const target = existsSync('/etc/hostname') ? readFileSync('/etc/hostname', 'utf8') : null

    await run(['/work/attacks', 'make_links'])
    const { report } = await run(['/bin/echo', 'overwritten'], { stdoutPath: join(work, 'output') })

    assert.equal(report.verdict, 'SE')
    assert.match(report.sandboxError, /ELOOP/)
    if (target !== null) assert.equal(readFileSync('/etc/hostname', 'utf8'), target)
    await box.close()
  })
})
