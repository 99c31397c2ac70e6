// Without root: user namespaces give the box, and without a cgroup of its own the sandbox refuses, or says in every result that its
// limits are weaker.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { atEnd } from '../support/cleanup.ts'
import { attackFolder, cannotTest } from './rig.ts'
import { nodeArgs } from '../support/program.ts'

const USER = 61_234
const CHILD = nodeArgs(new URL('rootless-child.ts', import.meta.url))
const AS_USER = ['--reuid', String(USER), '--regid', String(USER), '--clear-groups', '--']
const asUser = (command: readonly string[], env: NodeJS.ProcessEnv = {}) =>
  spawnSync('setpriv', [...AS_USER, ...command], {
    encoding: 'utf8',
    timeout: 100_000,
    env: { PATH: '/usr/bin:/bin', ...env },
  })

const cannotBeUser =
  cannotTest ||
  (asUser([process.execPath, '--version']).status !== 0 || asUser(['test', '-r', CHILD.at(-1) ?? '']).status !== 0
    ? 'another user cannot read this folder'
    : asUser(['unshare', '--user', 'true']).status !== 0
      ? 'user namespaces are not allowed here'
      : false)

/** In degraded mode limits are per process, so that attacks by many processes are not among these. */
const VERDICTS = {
  sockets: 'OK',
  other_processes: 'OK',
  writing: 'OK',
  calls: 'OK',
  rewrite_input: 'OK',
  exhaust_descriptors: 'OK',
  leave_state: 'OK',
  find_state: 'OK',
  daemons: 'OK',
  detached_spin: 'OK',
  host_files: 'OK',
  call_32_bit: 'RE',
  forge: 'RE',
  stack_overflow: 'RE',
  memory_at_once: 'RE',
  output_bomb: 'OLE',
  spin: 'TLE',
} as const

/** Of shared-resources.c. Without root all boxes share one id, so that limits per id are not among these. */
const SHARED_VERDICTS = {
  fallocate_keep_size: 'OK',
  fallocate_zero_range: 'OK',
  reserve_by_ioctl: 'OK',
  clone_blocks: 'OK',
  file_flags: 'OK',
  unreadable_output: 'OK',
  unlinked_output: 'OK',
  walk_from_output: 'OK',
  kernel_clues: 'OK',
  hog_queues: 'OK',
  raise_limits: 'OK',
  core_dump: 'RE',
  reopen_output: 'RE', // SIGXFSZ, as the next one
  sparse_output: 'RE',
} as const

function attackAsUser(
  t: TestContext,
  degraded: 'allow' | 'refuse',
  attacks: readonly string[],
  source: 'attacks' | 'shared-resources' = 'attacks',
) {
  const folder = mkdtempSync(join(tmpdir(), 'reeve-rootless-'))
  chmodSync(folder, 0o777)
  atEnd(t, () => rmSync(folder, { recursive: true, force: true }))
  chmodSync(join(attackFolder(source), '..'), 0o755)
  const program = join(attackFolder(source), 'attacks')
  const env = { HOME: folder, TMPDIR: folder }
  const { stdout, stderr } = asUser([process.execPath, ...CHILD, folder, degraded, program, ...attacks], env)
  assert.notEqual(stdout, '', stderr)
  return stdout
    .trim()
    .split('\n')
    .map((line): Record<string, unknown> => ({ ...JSON.parse(line) }))
}

describe('without root and without a cgroup', { skip: cannotBeUser, timeout: 120_000 }, () => {
  test('the sandbox refuses to run, and names the call and the remedy', (t) => {
    const [answer] = attackAsUser(t, 'refuse', [])

    assert.match(
      String(answer?.['refused']),
      /EACCES.*mkdir.*cgroup.*Run Reeve as root.*Delegate=yes.*SANDBOX_DEGRADED=allow/s,
    )
  })

  test('SANDBOX_DEGRADED=allow runs, enforces what does not need a cgroup, and says so in every result', (t) => {
    const answers = attackAsUser(t, 'allow', Object.keys(VERDICTS))

    assert.deepEqual(
      Object.fromEntries(answers.map(({ attack, verdict }) => [attack, verdict])),
      VERDICTS,
      JSON.stringify(answers),
    )
    assert(answers.every(({ degraded }) => degraded === true))
  })

  test('attacks on what boxes share with the host fail without root as well', (t) => {
    const answers = attackAsUser(t, 'allow', Object.keys(SHARED_VERDICTS), 'shared-resources')

    assert.deepEqual(
      Object.fromEntries(answers.map(({ attack, verdict }) => [attack, verdict])),
      SHARED_VERDICTS,
      JSON.stringify(answers),
    )
    assert.equal(answers.find(({ attack }) => attack === 'unreadable_output')?.['said'], 'wrong')
  })
})
