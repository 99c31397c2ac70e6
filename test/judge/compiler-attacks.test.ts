// Sources that attack the compiler, which runs in a box that may write to its folder. Whatever it makes of them: within its limits, without
// a byte of the host's files, and with nothing left behind.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { lstatSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import type { RunReport } from '../../src/doors/judge/sandbox/box.ts'
import { footing, MB, noBoxes, SAFETY, setup } from './rig.ts'

const missing = spawnSync('g++', ['--version']).error === undefined ? false : 'g++ is not installed'
const SKIPPED = { ...SAFETY, skip: noBoxes || missing }

const LIMITS = {
  cpuMs: 3000,
  wallMs: 20_000,
  memoryBytes: 256 * MB,
  outputBytesMax: MB / 16,
  fileBytesMax: 16 * MB,
  processesMax: 32,
}

async function compileInBox(t: TestContext, source: string) {
  const { work, run } = await setup(t, { writable: true, sources: { 'main.cpp': source } })
  const { report, stderr } = await run(['/usr/bin/g++', '-O1', '-o', '/work/main', '/work/main.cpp'], LIMITS)

  const biggest = Math.max(0, ...readdirSync(work).map((name) => lstatSync(join(work, name)).size))
  assert(biggest <= LIMITS.fileBytesMax, `a file of ${biggest} bytes`)
  const { report: next } = await run(['/usr/bin/g++', '--version'], LIMITS)
  assert.equal(next.verdict, 'OK')
  return { report, stderr, work }
}

/** Without cgroups the memory limit is one of addresses: the compiler hears of it and gives up. */
const OUT_OF_MEMORY = footing === 'degraded' ? 'RE' : 'MLE'

const ended = (report: RunReport, ...verdicts: RunReport['verdict'][]) =>
  assert(verdicts.includes(report.verdict), `${JSON.stringify(report)}: expected ${verdicts.join(' or ')}`)

describe('a compiler in a box', SKIPPED, () => {
  test('compiles what is no attack', async (t) => {
    const { report, work } = await compileInBox(
      t,
      '#include <vector>\nint main() { return std::vector<int>(3).size() - 3; }',
    )

    ended(report, 'OK')
    assert(readdirSync(work).includes('main'))
  })

  test('including an endless device ends at the memory or time limit', async (t) => {
    const { report } = await compileInBox(t, '#include "/dev/zero"\nint main() {}')

    ended(report, OUT_OF_MEMORY, 'TLE')
  })

  test('including random bytes ends at a limit, and so do the messages about them', async (t) => {
    const { report } = await compileInBox(t, '#include "/dev/urandom"\nint main() {}')

    ended(report, OUT_OF_MEMORY, 'TLE', 'OLE')
  })

  test('including the standard input includes nothing', async (t) => {
    const { report } = await compileInBox(t, '#include "/dev/stdin"\nint main() {}')

    ended(report, 'OK')
  })

  for (const path of ['/etc/shadow', '/etc/hostname', '/proc/1/environ', '/proc/meminfo', import.meta.filename]) {
    const name = path === import.meta.filename ? 'a file of the host' : path
    test(`including ${name} finds no such file`, async (t) => {
      const { report, stderr } = await compileInBox(t, `#include "${path}"\nint main() {}`)

      ended(report, 'RE')
      assert.match(stderr, /No such file or directory/)
    })
  }

  test('assembling a file of the host into the program fails', async (t) => {
    const { report } = await compileInBox(t, '__asm__(".incbin \\"/etc/shadow\\"");\nint main() {}')

    ended(report, 'RE')
  })

  test('a giant initialised array is stopped at the file size', async (t) => {
    const { report } = await compileInBox(t, 'char big[1u << 30] = {1};\nint main() { return big[5]; }')

    ended(report, 'RE')
  })

  test('a giant output by the assembler is stopped at the file size', async (t) => {
    const { report } = await compileInBox(t, '__asm__(".fill 1 << 30, 8, 1");\nint main() {}')

    ended(report, 'RE')
  })

  test('an endless device assembled into the program is stopped', async (t) => {
    const { report } = await compileInBox(t, '__asm__(".incbin \\"/dev/zero\\"");\nint main() {}')

    ended(report, 'RE')
  })

  test('a template that never ends is stopped', async (t) => {
    const { report } = await compileInBox(
      t,
      'template <int N, int M> struct F { static const unsigned v = F<N - 1, M>::v + F<N - 1, M + 1>::v; };\n' +
        'template <int M> struct F<0, M> { static const unsigned v = 1; };\nint main() { return F<800, 0>::v; }',
    )

    ended(report, OUT_OF_MEMORY, 'TLE')
  })

  test('a macro that expands to more than there is memory is stopped', async (t) => {
    const levels = Array.from({ length: 32 }, (_, level) => `#define M${level + 1} M${level} M${level}`).join('\n')
    const { report } = await compileInBox(t, `#define M0 1,\n${levels}\nint big[] = { M32 };\nint main() {}`)

    ended(report, OUT_OF_MEMORY, 'TLE')
  })

  test('a constant that is computed for ever is stopped', async (t) => {
    const { report } = await compileInBox(
      t,
      'constexpr long f(long n) { long s = 0; for (long i = 0; i < n; i++) for (long j = 0; j < 260000; j++) s += i ^ j; return s; }\n' +
        'template <long N> struct G { static constexpr long v = f(100 + N) + G<N - 1>::v; };\ntemplate <> struct G<0> { static constexpr long v = 0; };\nint main() { return G<800>::v; }',
    )

    ended(report, 'TLE', OUT_OF_MEMORY)
  })

  test('messages without end are cut at the output limit', async (t) => {
    const { report, stderr } = await compileInBox(t, Array.from({ length: 200_000 }, () => '#warning flood').join('\n'))

    ended(report, 'OLE')
    assert(stderr.length <= 100_000)
  })

  test('compiling a file that includes itself ends', async (t) => {
    const { report } = await compileInBox(t, '#include "main.cpp"\n#include "main.cpp"\nint main() {}')

    ended(report, 'RE', 'OLE', 'TLE', OUT_OF_MEMORY)
  })
})
