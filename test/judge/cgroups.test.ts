// Where runs are counted on different systems: what is read from /proc/self/mountinfo and /proc/self/cgroup.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { mkdir, open, rm } from 'node:fs/promises'
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { temporaryFolder } from '../support/servers.ts'
import { findHierarchy, openCgroups } from '../../src/doors/judge/sandbox/cgroups.ts'

const V1 = [
  '31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755',
  '33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct',
  '35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:11 - cgroup cgroup rw,memory',
  '39 31 0:36 / /sys/fs/cgroup/pids rw,relatime shared:12 - cgroup cgroup rw,pids',
  '40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd',
]
const HYBRID = [...V1, '41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate']
const V2 = [
  '29 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot',
]

const root = { base: '', isRoot: true }
const user = { base: '', isRoot: false }
const find = (lines: readonly string[], options: { base: string; isRoot: boolean }, membership = '0::/\n') =>
  findHierarchy(lines.join('\n'), membership, options)
const tree = (mount: string, base: string) => ({ mount, base })

describe('the cgroup hierarchy', () => {
  test('version 1 has a tree for each controller, wherever that is mounted', () => {
    const trees = ['/sys/fs/cgroup/memory', '/sys/fs/cgroup/cpu,cpuacct', '/sys/fs/cgroup/pids'].map((mount) =>
      tree(mount, 'reeve'),
    )

    assert.deepEqual(find(V1, root), { version: 1, trees })
    assert.deepEqual(find(HYBRID, root), { version: 1, trees }) // the unified one has no controllers then
  })

  test('a controller of version 1 that is missing is named', () => {
    assert.equal(
      find(
        V1.filter((line) => !line.includes('pids')),
        root,
      ),
      'the cgroup v1 controller pids is not mounted',
    )
  })

  test('version 2 is one tree: below its root for root, in their own cgroup for other users', () => {
    const membership = '0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-r1.scope\n'

    assert.deepEqual(find(V2, root), { version: 2, trees: [tree('/sys/fs/cgroup', 'reeve')] })
    assert.deepEqual(find(V2, user, membership), {
      version: 2,
      trees: [tree('/sys/fs/cgroup', 'user.slice/user-1000.slice/user@1000.service/app.slice/run-r1.scope')],
    })
  })

  test('a mount that shows only a part of the tree is taken as it is', () => {
    const lines = ['29 23 0:26 /docker/abc /sys/fs/cgroup rw,relatime - cgroup2 cgroup rw']

    assert.deepEqual(find(lines, user, '0::/docker/abc/sub\n'), { version: 2, trees: [tree('/sys/fs/cgroup', 'sub')] })
  })

  test('a process that was moved to the leaf finds the base above it', () => {
    assert.deepEqual(find(V2, user, '0::/scope/reeve-main\n'), { version: 2, trees: [tree('/sys/fs/cgroup', 'scope')] })
  })

  test('SANDBOX_CGROUP names the base', () => {
    assert.deepEqual(find(V2, { base: '/judge/boxes/', isRoot: false }), {
      version: 2,
      trees: [tree('/sys/fs/cgroup', 'judge/boxes')],
    })
  })

  test('a path with a space is read as one', () => {
    const lines = ['29 23 0:26 / /sys/fs/my\\040cgroup rw,relatime - cgroup2 cgroup2 rw']

    assert.deepEqual(find(lines, root), { version: 2, trees: [tree('/sys/fs/my cgroup', 'reeve')] })
  })

  test('a missing hierarchy is reported', () => {
    assert.equal(find(['22 27 0:21 / /proc rw,relatime - proc proc rw'], root), 'no cgroup hierarchy is mounted')
  })
})

test('a base that another judge removes while this one starts is made again', async (t) => {
  const { getuid } = process
  t.after(() => Object.assign(process, { getuid }))
  Object.assign(process, { getuid: () => 1000 }) // root hands on a file of the kernel's, which a plain folder does not have
  const mount = await temporaryFolder(t)
  const base = join(mount, 'reeve')
  await mkdir(base)
  execFileSync('mkfifo', [join(base, 'cgroup.controllers')]) // whoever reads it waits until something is written
  const controllers = await open(join(base, 'cgroup.controllers'), 'r+')

  const opening = openCgroups({ version: 2, trees: [{ mount, base: 'reeve' }] })
  await rm(base, { recursive: true })
  await controllers.write('memory pids')
  await controllers.close()

  assert.equal((await opening).version, 2)
})
