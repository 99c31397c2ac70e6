// What a run is given, and what is reported of it.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { atEnd } from '../support/cleanup.ts'
import { attackFolder, footing, MB, SAFETY, setup, workFolder } from './rig.ts'

describe('a run', SAFETY, () => {
  test('gets its input, arguments and environment, and nothing else', async (t) => {
    const input = join(workFolder(t, { input: 'hello\n' }), 'input')
    const { run } = await setup(t)

    const { stdout, stderr, report } = await run(
      ['/bin/sh', '-c', 'cat; echo "$@"; env | sort; pwd; id -u; hostname; echo oops >&2', 'sh', 'a b', 'ü"\\\n\t'],
      { stdinPath: input, env: { NAME: 'väl=ue', PATH: '/bin' } },
    )

    assert.equal(stdout, 'hello\na b ü"\\\n\t\nNAME=väl=ue\nPATH=/bin\nPWD=/work\n/work\n65534\nbox\n')
    assert.equal(stderr, 'oops\n')
    assert.equal(report.verdict, 'OK')
    assert.equal(report.outputBytes, Buffer.byteLength(stdout))
  })

  test('writes both its outputs to one file in their order', async (t) => {
    const { work, run } = await setup(t)
    const both = join(work, 'both')

    await run(['/bin/sh', '-c', 'echo 1; echo 2 >&2; echo 3'], { stdoutPath: both, stderrPath: both })

    assert.equal(readFileSync(both, 'utf8'), '1\n2\n3\n')
  })

  test('sees its folder read-only, or may write to it, and sees the files that it is given', async (t) => {
    const extra = workFolder(t, { tool: 'a tool\n' })
    const reading = await setup(t, { mounts: [{ from: extra, to: '/opt/extra' }] })
    const writing = await setup(t, { writable: true })

    const tried = await reading.run(['/bin/sh', '-c', 'cat /opt/extra/tool; touch new; touch /opt/extra/new'])
    await writing.run(['/bin/sh', '-c', 'echo made > new'])

    assert.equal(tried.stdout, 'a tool\n')
    assert.match(tried.stderr, /new.*Read-only file system[^]*new.*Read-only file system/)
    assert.equal(existsSync(join(reading.work, 'new')), false)
    assert.equal(readFileSync(join(writing.work, 'new'), 'utf8'), 'made\n')
    await assert.rejects(setup(t, { readOnlyPaths: ['/tmp/x'] }), /cannot show \/tmp\/x/)
    await assert.rejects(setup(t, { readOnlyPaths: ['/nowhere'] }), /open_tree\("\/nowhere"\): ENOENT/)
  })

  test('that cannot be started is a failure of the sandbox, never one of the program', async (t) => {
    const { run } = await setup(t, { sources: { 'not-executable': 'x' } })

    const missing = await run(['/work/nothing'])
    const refused = await run(['/work/not-executable'])
    const noInput = await run(['/bin/true'], { stdinPath: '/nowhere/at/all' })

    assert.equal(missing.report.verdict, 'SE')
    assert.equal(missing.report.sandboxError, 'execve("/work/nothing"): ENOENT')
    assert.equal(refused.report.sandboxError, 'execve("/work/not-executable"): EACCES')
    assert.match(noInput.report.sandboxError, /open_tree\("\/nowhere\/at\/all"\): ENOENT/)
    assert.equal((await run(['/bin/true'])).report.verdict, 'OK')
  })

  test('that breaks several limits gets the first of OLE, MLE, TLE and RE', async (t) => {
    const { run } = await setup(t, { workFolder: attackFolder() })

    const shout = await run(['/work/attacks', 'output_bomb'], { cpuMs: 50, wallMs: 30_000 })
    const grow = await run(['/work/attacks', 'memory_at_once'], { cpuMs: 1, memoryBytes: 4 * MB })
    const fail = await run(['/bin/sh', '-c', 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 1'], { cpuMs: 1 })

    assert.equal(shout.report.verdict, 'OLE')
    // Whichever the kernel reaches first; without cgroups its loader does not fit.
    assert(['MLE', 'TLE', ...(footing === 'degraded' ? ['SE', 'RE'] : [])].includes(grow.report.verdict))
    assert.equal(fail.report.verdict, 'TLE')
  })

  test('is charged for what all of its processes used', async (t) => {
    const { run } = await setup(t)

    const work = 'i=0; while [ $i -lt 60000 ]; do i=$((i+1)); done'
    const one = await run(['/bin/sh', '-c', work], { cpuMs: 20_000 })
    const four = await run(['/bin/sh', '-c', `for n in 1 2 3 4; do (${work}) & done; wait`], { cpuMs: 20_000 })

    assert.equal(four.report.verdict, 'OK')
    assert(
      four.report.timeMs > 2 * one.report.timeMs,
      `${four.report.timeMs} ms for four times ${one.report.timeMs} ms`,
    )
  })

  test('may use memory up to its limit, but not a megabyte more', async (t) => {
    const source =
      '#include <stdlib.h>\n#include <string.h>\nint main(int c, char **v) { size_t n = atol(v[1]); memset(malloc(n), 1, n); return 0; }'
    const { work, run } = await setup(t, { sources: { 'main.c': source } })
    execFileSync('gcc', ['-O0', '-static', '-o', join(work, 'main'), join(work, 'main.c')])

    const below = await run(['/work/main', String(31 * MB)], { memoryBytes: 32 * MB, cpuMs: 20_000 })
    const above = await run(['/work/main', String(32.5 * MB)], { memoryBytes: 32 * MB, cpuMs: 20_000 })

    assert.equal(below.report.verdict, 'OK')
    assert(Math.abs(below.report.memKb - 31 * 1024) < 1024, `${below.report.memKb} KB`)
    assert.equal(above.report.verdict, footing === 'degraded' ? 'RE' : 'MLE')
  })

  test('is not charged for the memory of its output file', async (t) => {
    const { run } = await setup(t)

    const { report } = await run(['/usr/bin/head', '-c', '50000000', '/dev/zero'], {
      outputBytesMax: 100 * MB,
      cpuMs: 20_000,
    })

    assert.equal(report.verdict, 'OK')
    assert.equal(report.outputBytes, 50_000_000)
    assert(report.memKb < 10_000, `${report.memKb} KB`)
  })

  test('may write exactly as many bytes as allowed', async (t) => {
    const { run } = await setup(t)

    const exact = await run(['/usr/bin/head', '-c', '1000', '/dev/zero'], { outputBytesMax: 1000, fileBytesMax: 10 })
    const more = await run(['/usr/bin/head', '-c', '1001', '/dev/zero'], { outputBytesMax: 1000, fileBytesMax: 10 })

    assert.deepEqual([exact.report.verdict, exact.report.outputBytes], ['OK', 1000])
    assert.equal(more.report.verdict, 'OLE')
  })

  test('that has to wait for a core is in time, or is reported as starved', async (t) => {
    const { run } = await setup(t)
    const work = ['/bin/sh', '-c', 'i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done']
    const alone = await run(work, { cpuMs: 60_000, wallMs: 60_000 })
    const busy = Array.from({ length: 4 * availableParallelism() }, () =>
      spawn('/bin/sh', ['-c', 'while :; do :; done']),
    )
    atEnd(t, () => Promise.all(busy.map((child) => (child.kill('SIGKILL'), once(child, 'close')))))

    const { report } = await run(work, { cpuMs: 60_000, wallMs: 100 + 2 * alone.report.timeMs })

    assert(report.verdict === 'OK' || report.starved, JSON.stringify(report))
  })
})

describe('two runs that talk to each other', SAFETY, () => {
  /** A FIFO whose ends are held here, as the judge does it. */
  const makeFifo = (t: TestContext, folder: string, name: string) => {
    const path = join(folder, name)
    execFileSync('mkfifo', [path])
    const held = { reader: openSync(path, constants.O_RDONLY | constants.O_NONBLOCK), writer: openSync(path, 'w') }
    const open = new Set(Object.values(held))
    const close = (fd: number) => open.delete(fd) && closeSync(fd)
    atEnd(t, () => [...open].forEach(close))
    return { path, closeReader: () => close(held.reader), closeWriter: () => close(held.writer) }
  }

  test('hear each other', async (t) => {
    const [left, right] = [await setup(t), await setup(t)]
    const [there, back] = [makeFifo(t, left.work, 'there'), makeFifo(t, left.work, 'back')]

    const [one, other] = await Promise.all([
      left.run(['/bin/sh', '-c', 'echo 1; read x; echo "heard $x" >&2'], {
        stdinPath: back.path,
        stdoutPath: there.path,
      }),
      right.run(['/bin/sh', '-c', 'read x; echo $((x+1))'], { stdinPath: there.path, stdoutPath: back.path }),
    ])

    assert.deepEqual([one.report.verdict, other.report.verdict], ['OK', 'OK'])
    assert.equal(one.stderr, 'heard 2\n')
  })

  test('a reader sees the end of its input when the other writer closes it', async (t) => {
    const { run, work } = await setup(t)
    const fifo = makeFifo(t, work, 'fifo')
    writeFileSync(fifo.path, 'last words\n')

    const ended = run(['/bin/sh', '-c', 'cat'], { stdinPath: fifo.path })
    fifo.closeWriter()

    const { report, stdout } = await ended
    assert.equal(report.verdict, 'OK')
    assert.equal(stdout, 'last words\n')
  })

  test('a writer without a reader gets SIGPIPE', async (t) => {
    const { run, work } = await setup(t)
    const fifo = makeFifo(t, work, 'fifo')
    fifo.closeReader()

    const { report } = await run(['/bin/sh', '-c', 'while :; do echo more; done'], { stdoutPath: fifo.path })

    assert.equal(report.exitSignal, 13)
  })
})
