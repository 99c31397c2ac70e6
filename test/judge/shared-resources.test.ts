// Attacks on what boxes share: disk blocks, limits that the kernel keeps per user id, names of the host. The programs are in
// shared-resources.c; whatever they do, nothing of them is left when the test ends.
import assert from 'node:assert/strict'
import { hostname } from 'node:os'
import { copyFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { RunReport, RunRequest } from '../../src/doors/judge/sandbox/box.ts'
import { until } from '../support/until.ts'
import { attackFolder, boxedProcesses, cannotTest, MB, setup } from './rig.ts'

const SAFETY = { skip: cannotTest, timeout: 120_000 }

interface Attack {
  name: string
  verdict: RunReport['verdict']
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
  { name: 'reopen_output', verdict: 'OK' },
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
]

describe('attacks on what boxes share', SAFETY, () => {
  for (const { name, verdict, limits } of ATTACKS) {
    test(`${name} ends as ${verdict} and leaves nothing`, async (t) => {
      const { run } = await setup(t, { workFolder: attackFolder('shared-resources') })

      const { report, stdout } = await run(['/work/attacks', name], limits)
      const after = await run(['/bin/echo', 'fine'])

      assert.equal(report.verdict, verdict, `${JSON.stringify(report)} ${stdout.slice(0, 500)}`)
      assert.equal(after.stdout, 'fine\n')
    })
  }

  for (const { name, verdict, limits } of DISK_ATTACKS) {
    test(`${name} in a writable folder is ended as ${verdict} near the limit of the disk`, async (t) => {
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

  test('a program that hogs pipes does not change those of another box', async (t) => {
    const hog = await setup(t, { workFolder: attackFolder('shared-resources') })
    const other = await setup(t, { workFolder: hog.work })
    const hogging = hog.run(['/work/attacks', 'hog_pipes'], { wallMs: 20_000 })
    await until('the pipes are taken', () => boxedProcesses().some(({ name }) => name === 'attacks'))

    const { stdout } = await other.run(['/work/attacks', 'measure_pipe'])
    await hog.box.close()
    await hogging

    assert.equal(stdout, '65536')
  })

  test('each helper uses user ids of its own', async (t) => {
    const first = await setup(t, { writable: true })
    const second = await setup(t, { writable: true })

    const owners = [first, second].map(({ work }) => statSync(work).uid)

    assert.notEqual(owners[0], owners[1])
    assert(owners.every((uid) => uid !== 0))
  })
})
