// The line between driver and helper: what is believed, what is refused, and what is counted.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import type { RunRequest } from '../../../src/doors/judge/sandbox/box.ts'
import { startHelper } from '../../../src/doors/judge/sandbox/helper-process.ts'
import { parseReport } from '../../../src/doors/judge/sandbox/report.ts'
import { ProtocolError } from '../../../src/doors/judge/sandbox/sandbox-error.ts'
import { createBoxRunner } from '../../../src/doors/judge/sandbox/box-runner.ts'
import { pino } from 'pino'
import { readSettings } from '../../../src/core/settings.ts'
import { silentMeter } from '../../../src/doors/judge/metrics.ts'
import { JUDGE_SETTINGS } from '../../../src/doors/judge/settings.ts'
import { sandboxOptions } from '../../../src/doors/judge/work/judging.ts'
import { atEnd } from '../../support/cleanup.ts'
import { cannotTest, LIMITS, setup } from '../../judge/rig.ts'

/** The contract's example of a line. */
const EXAMPLE =
  '{"schema_version":1,"job_id":"job_123","attempt_id":0,"verdict":"OK","time_ms":12,"mem_kb":2048,"exit_signal":0,"sandbox_error":"","status":"Finished","time_used":12,"memory_used":2048,"exit_code":0'
const LINE = `${EXAMPLE},"error":"","wall_ms":15,"output_bytes":3,"starved":false,"degraded":false}`

const RUN: RunRequest = {
  jobId: 'job_123',
  attemptId: 0,
  argv: ['/bin/true'],
  env: {},
  stdinPath: null,
  stdoutPath: null,
  stderrPath: null,
  ...LIMITS,
}

/** A runner whose helper is a shell script: it answers `run` with the given commands. */
function runnerOf(t: TestContext, answer: string, limits = { stdoutLimitBytes: 1000, stderrLimitBytes: 1000 }) {
  const heard: { protocolErrors: string[]; truncated: string[]; fallBacks: number; started: number } = {
    protocolErrors: [],
    truncated: [],
    fallBacks: 0,
    started: 0,
  }
  const folder = mkdtempSync(join(tmpdir(), 'reeve-protocol-'))
  const script = `FOLDER=${folder}; echo '{"ready":true}'; while read -r line; do case "$line" in *'"cmd":"run"'*) ${answer};; *) echo '{"open":true}';; esac; done`
  const runner = createBoxRunner({
    mode: 'agent',
    root: { mountsFor: async () => [] },
    async launch() {
      heard.started += 1
      const { helper } = await startHelper({
        program: '/bin/sh',
        args: ['-c', script],
        ...limits,
        onTruncated: (stream) => heard.truncated.push(stream),
        onEnded: async () => {},
      })
      return helper
    },
    onProtocolError: (reason) => heard.protocolErrors.push(reason),
    onFallBack: () => (heard.fallBacks += 1),
  })
  atEnd(t, async () => {
    await runner.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const open = () => runner.open({ workFolder: folder, writable: false, readOnlyPaths: [] })
  return { open, heard, folder }
}

describe('Judge JSON v1', () => {
  test('judge B: a line with the specified fields is parsed, with or without further fields', async (t) => {
    const { open, heard } = runnerOf(t, `echo '${LINE}'`)

    const report = await (await open()).run(RUN)

    assert.deepEqual(report, {
      verdict: 'OK',
      timeMs: 12,
      wallMs: 15,
      memKb: 2048,
      exitCode: 0,
      exitSignal: 0,
      sandboxError: '',
      outputBytes: 3,
      starved: false,
      degraded: false,
      same: false,
    })
    assert.deepEqual(heard.protocolErrors, [])
  })

  for (const [reason, line] of [
    ['schema_version_mismatch', LINE.replace('"schema_version":1', '"schema_version":2')],
    ['job_id_mismatch', LINE.replace('job_123', 'job_124')],
    ['attempt_id_mismatch', LINE.replace('"attempt_id":0', '"attempt_id":1')],
    ['attempt_id_mismatch', LINE.replace('"attempt_id":0', '"attempt_id":"0"')],
    ['missing_field', LINE.replace('"attempt_id":0,', '')],
    ['missing_field', LINE.replace('"verdict":"OK",', '')],
    ['missing_field', LINE.replace('"verdict":"OK"', '"verdict":"AC"')],
    ['missing_field', LINE.replace('"time_ms":12', '"time_ms":"12"')],
    ['invalid_json', LINE.slice(0, -1)],
    ['invalid_json', `[${LINE}]`],
    ['invalid_json', 'null'],
    ['invalid_json', 'Segmentation fault'],
    ['truncated', LINE.padEnd(2000)],
  ] as const) {
    test(`judge B: ${reason}: ${line.slice(0, 60)}… is refused, counted and never relabelled`, async (t) => {
      const { open, heard } = runnerOf(t, `echo '${line}'`)
      const box = await open()

      await assert.rejects(box.run(RUN), (error) => error instanceof ProtocolError && error.reason === reason)

      assert.deepEqual(heard.protocolErrors, [reason])
      assert.deepEqual(heard.truncated, reason === 'truncated' ? ['stdout'] : [])
    })
  }

  test('judge B: a helper that dies without a line counts as no_answer', async (t) => {
    const { open, heard } = runnerOf(t, 'echo "Bus error" >&2; exit 3')

    await assert.rejects((await open()).run(RUN), /no_answer.*exit code 3.*Bus error/s)

    assert.deepEqual(heard.protocolErrors, ['no_answer'])
  })

  test('judge B: the limits on what is kept of the helper’s output come from the settings', () => {
    const env = { JUDGE_STDOUT_LIMIT_BYTES: '5000', JUDGE_STDERR_LIMIT_BYTES: '6000' }
    const options = (settings: Record<string, string>) =>
      sandboxOptions({
        folder: '/nowhere',
        settings: readSettings(JUDGE_SETTINGS, settings, []),
        meter: silentMeter,
        log: pino({ enabled: false }),
      })

    assert.deepEqual([options(env).stdoutLimitBytes, options(env).stderrLimitBytes], [5000, 6000])
    assert.deepEqual([options({}).stdoutLimitBytes, options({}).stderrLimitBytes], [262_144, 1_048_576])
  })

  test('judge B: standard error beyond its limit is read, dropped and counted', async (t) => {
    const { open, heard } = runnerOf(t, `head -c 3000000 /dev/zero >&2; echo '${LINE}'`)

    assert.equal((await (await open()).run(RUN)).verdict, 'OK')

    assert.deepEqual(heard.truncated, ['stderr'])
  })

  test('judge INV-7: after three broken helpers in a row each run gets a helper of its own', async (t) => {
    const { open, heard } = runnerOf(t, 'exit 1')
    const box = await open()

    for (let runs = 0; runs < 5; runs += 1) await assert.rejects(box.run(RUN), ProtocolError)

    assert.equal(heard.fallBacks, 1)
    assert.equal(heard.started, 5)
  })

  test('judge B: the run after a broken one gets a new helper, and a good answer resets the count', async (t) => {
    const { open, heard, folder } = runnerOf(
      t,
      `if [ -e "$FOLDER/mended" ]; then echo '${LINE}'; else echo nonsense; fi`,
    )
    const box = await open()

    await assert.rejects(box.run(RUN), ProtocolError)
    await assert.rejects(box.run(RUN), ProtocolError)
    writeFileSync(join(folder, 'mended'), '')
    assert.equal((await box.run(RUN)).verdict, 'OK')
    assert.equal((await box.run(RUN)).verdict, 'OK')

    assert.equal(heard.started, 3)
    assert.equal(heard.fallBacks, 0)
  })

  test('the remedy is shown with the call that failed', () => {
    const error = 'unshare(CLONE_NEWUSER | CLONE_NEWNS): EPERM'
    const line: unknown = JSON.parse(LINE.replace('"sandbox_error":""', `"sandbox_error":"${error}"`))

    assert.match(parseReport(line, RUN).sandboxError, /^unshare\(.*EPERM\. User namespaces are not allowed here/)
  })
})

describe('the helper itself', { skip: cannotTest, timeout: 60_000 }, () => {
  test('judge B: the helper writes the specified fields in order, then its own', async (t) => {
    const { box } = await setup(t)
    const lines: string[] = []
    const parse = JSON.parse
    t.mock.method(JSON, 'parse', (text: string) => (lines.push(text), parse(text)))

    await box.run({ ...RUN, jobId: 'jöb "1"\n' })

    const line = lines.find((text) => text.includes('schema_version')) ?? ''
    const names = EXAMPLE.match(/"\w+":/g) ?? []
    assert.deepEqual((line.match(/"\w+":/g) ?? []).slice(0, names.length), names)
    assert(
      line.startsWith('{"schema_version":1,"job_id":"jöb \\"1\\"\\u000a","attempt_id":0,"verdict":"OK","time_ms":'),
      line,
    )
  })
})
