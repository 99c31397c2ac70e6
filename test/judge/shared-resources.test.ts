// Attacks on what boxes share: disk blocks, limits that the kernel keeps per user id, names of the host. The programs are in
// shared-resources.c; whatever they do, nothing of them is left when the test ends.
import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { copyFileSync, existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { RunReport, RunRequest } from '../../src/doors/judge/sandbox/box.ts'
import { until } from '../support/until.ts'
import { attackFolder, cgroupFolders, footing, MB, SAFETY, setup, workFolder } from './rig.ts'

interface Attack {
  name: string
  verdict: RunReport['verdict']
  /** Without root the program has the id of its output's owner. */
  asUser?: RunReport['verdict']
  limits?: Partial<RunRequest>
}

const ATTACKS: readonly Attack[] = [
  { name: 'fallocate_keep_size', verdict: 'OK' },
  { name: 'fallocate_zero_range', verdict: 'OK' },
  { name: 'fallocate_error_file', verdict: 'OK' },
  { name: 'reserve_by_ioctl', verdict: 'OK' },
  { name: 'clone_blocks', verdict: 'OK' },
  { name: 'file_flags', verdict: 'OK' },
  { name: 'sparse_output', verdict: 'OLE' },
  { name: 'unlinked_output', verdict: 'OK' },
  { name: 'unreadable_output', verdict: 'OK' },
  { name: 'attributes_of_output', verdict: 'OK' },
  { name: 'hog_signals', verdict: 'OK' },
  { name: 'hog_timers', verdict: 'OK' },
  { name: 'hog_locked_memory', verdict: 'OK' },
  { name: 'hog_epoll', verdict: 'OK' },
  { name: 'hog_queues', verdict: 'OK' },
  { name: 'core_dump', verdict: 'RE' },
  { name: 'raise_limits', verdict: 'OK' },
  { name: 'walk_from_output', verdict: 'OK' },
  { name: 'reopen_output', verdict: 'OK', asUser: 'RE' },
  { name: 'kernel_clues', verdict: 'OK' },
  { name: 'loud_neighbours', verdict: 'TLE', limits: { cpuMs: 300 } },
  { name: 'exec_from_tmp', verdict: 'OK' },
  { name: 'vfork_storm', verdict: 'OK', limits: { cpuMs: 20_000 } },
  { name: 'stopped', verdict: 'TLE', limits: { wallMs: 200 } },
]

/** In a folder that the program may write to, as a compiler does. */
const DISK_ATTACKS: readonly Attack[] = [
  { name: 'many_files', verdict: 'OLE', limits: { cpuMs: 60_000, wallMs: 60_000, memoryBytes: 512 * MB } },
  { name: 'hidden_files', verdict: 'OLE', limits: { cpuMs: 60_000 } },
  { name: 'deep_folders', verdict: 'OLE' },
  { name: 'attributes_of_output', verdict: 'OK' },
]

describe('attacks on what boxes share', SAFETY, () => {
  for (const { name, limits, ...expected } of ATTACKS) {
    const verdict = footing === 'root' ? expected.verdict : (expected.asUser ?? expected.verdict)
    test(`${name} ends as ${verdict} and leaves nothing`, async (t) => {
      const { run } = await setup(t, { workFolder: attackFolder('shared-resources') })

      const { report, stdout } = await run(['/work/attacks', name], limits)
      const after = await run(['/bin/echo', 'fine'])

      assert.equal(report.verdict, verdict, `${JSON.stringify(report)} ${stdout.slice(0, 500)}`)
      assert.equal(after.stdout, 'fine\n')
    })
  }

  for (const { name, verdict, limits } of DISK_ATTACKS) {
    test(`${name} in a writable folder ends as ${verdict}`, async (t) => {
      const { work, run } = await setup(t, { writable: true })
      copyFileSync(join(attackFolder('shared-resources'), 'attacks'), join(work, 'attacks'))

      const { report } = await run(['/work/attacks', name], { ...limits, diskBytesMax: 20 * MB })

      assert.equal(report.verdict, verdict, JSON.stringify(report))
    })
  }

  test('the names of the outputs tell neither host, process nor folder', async (t) => {
    const { run } = await setup(t, { workFolder: attackFolder('shared-resources') })

    const { stdout } = await run(['/work/attacks', 'names_of_outputs'])

    assert.match(stdout, /^\/[^/\n]*\n\/[^/\n]*\n$/)
    assert.doesNotMatch(stdout, new RegExp(`${hostname()}|reeve|${process.pid}`))
  })

  test('a program that hogs pipes affects those of another box only if both run as the same user', async (t) => {
    const hog = await setup(t, { workFolder: attackFolder('shared-resources') })
    const other = await setup(t, { workFolder: hog.work })
    const said = join(workFolder(t), 'said')
    const hogging = hog.run(['/work/attacks', 'hog_pipes'], { wallMs: 60_000, stdoutPath: said })
    await until('the pipes are taken', () => existsSync(said) && readFileSync(said, 'utf8') === 'taken')

    const { stdout, report } = await other.run(['/work/attacks', 'measure_pipe'])
    await hog.box.close()
    await hogging

    assert.equal(report.verdict, 'OK')
    if (footing === 'root') assert.equal(stdout, '65536')
    else assert(Number(stdout) >= 4096 && Number(stdout) <= 65_536, stdout)
  })

  test('all processes of a run together have half the weight of one process, where the CPU controller is delegated', async (t) => {
    await setup(t)

    const weights = cgroupFolders().flatMap((folder) =>
      ['cpu.weight', 'cpu.shares'].map((name) => join(folder, name)).filter((file) => existsSync(file)),
    )

    for (const file of weights) assert.equal(readFileSync(file, 'utf8'), file.endsWith('weight') ? '50\n' : '512\n')
    // Version 1 may have it in a hierarchy of its own.
    if (footing !== 'degraded' && existsSync('/sys/fs/cgroup/cgroup.controllers')) assert.equal(weights.length, 1)
  })

  test('each helper uses user ids of its own; without root it has only its own user', async (t) => {
    const first = await setup(t, { writable: true })
    const second = await setup(t, { writable: true })

    const owners = [first, second].map(({ work }) => statSync(work).uid)

    if (footing !== 'root') return assert.deepEqual(owners, [process.getuid?.(), process.getuid?.()])
    assert.notEqual(owners[0], owners[1])
    assert(owners.every((uid) => uid !== 0))
  })
})
