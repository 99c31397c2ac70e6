// Started as another user by rootless.test.ts: runs attacks in a sandbox without cgroups and prints what became of them.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openSandbox, type SandboxOptions } from '../../src/doors/judge/sandbox/sandbox.ts'

const [, , base = '', degraded = 'refuse', program = '', ...attacks] = process.argv
const folder = mkdtempSync(join(base, 'rootless-'))
const nothing = () => {}
const options: SandboxOptions = {
  cacheFolder: join(folder, 'cache'),
  mode: 'agent',
  degraded: degraded === 'allow' ? 'allow' : 'refuse',
  cgroup: '',
  stdoutLimitBytes: 262_144,
  stderrLimitBytes: 262_144,
  onProtocolError: nothing,
  onTruncated: nothing,
  onFallBack: nothing,
}
try {
  const sandbox = await openSandbox(options)
  const runner = sandbox.openRunner()
  writeFileSync(join(folder, 'input-1'), 'as it was\n')
  writeFileSync(join(folder, 'attacks'), readFileSync(program), { mode: 0o755 })
  const box = await runner.open({ workFolder: folder, writable: false, readOnlyPaths: [] })
  for (const attack of attacks) {
    const report = await box.run({
      jobId: 'rootless',
      attemptId: 1,
      argv: ['/work/attacks', attack],
      env: {},
      stdinPath: join(folder, 'input-1'),
      stdoutPath: join(folder, 'cache', 'output'),
      stderrPath: null,
      cpuMs: 300,
      wallMs: 20_000,
      memoryBytes: 64 * 2 ** 20,
      processesMax: 16,
      outputBytesMax: 10_000,
      fileBytesMax: 10_000,
      diskBytesMax: 10_000,
      stackBytes: 8 * 2 ** 20,
    })
    const said = readFileSync(join(folder, 'cache', 'output'), 'utf8').slice(0, 500)
    console.log(
      JSON.stringify({ attack, verdict: report.verdict, degraded: report.degraded, said, error: report.sandboxError }),
    )
  }
  if (readFileSync(join(folder, 'input-1'), 'utf8') !== 'as it was\n')
    console.log(JSON.stringify({ attack: 'input', verdict: 'changed' }))
  await runner.close()
} catch (error) {
  console.log(JSON.stringify({ refused: error instanceof Error ? error.message : String(error) }))
} finally {
  rmSync(folder, { recursive: true, force: true })
}
