// The sandbox's processes killed with SIGKILL at each step: whatever dies, nothing that ran in a box outlives it, and no cgroup is left.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { openCgroups, type Hierarchy } from '../../src/doors/judge/sandbox/cgroups.ts'
import { ProtocolError } from '../../src/doors/judge/sandbox/sandbox-error.ts'
import { atEnd } from '../support/cleanup.ts'
import {
  attackFolder,
  boxedProcesses,
  footing,
  hierarchy,
  leftovers,
  MB,
  namespaceOf,
  noBoxes,
  ownCgroups,
  processesIn,
  type Rig,
  SAFETY,
  sandbox,
  setup,
} from '../judge/rig.ts'
import { until } from '../support/until.ts'
import { LOADER, runnable } from '../support/program.ts'

/** Each leaves processes that would rather stay. */
const STEPS = {
  'between runs': null,
  'in a program that sleeps': 'sleeps_ignoring_signals',
  'in a program that spins': 'spin',
  'in a fork bomb': 'fork_bomb',
  'while memory is being filled': 'memory_by_children',
  'while output is being written': 'output_bomb',
} as const

/** Without cgroups there are none to leave behind. */
const hasCgroups = footing !== 'degraded'

/** The helper, and the first process of its box. */
function processesOf(): { helper: number; first: number } {
  const [helper, first] = boxedProcesses()
  assert(helper !== undefined && first !== undefined)
  return { helper: helper.pid, first: first.pid }
}

/** None of them reaches a limit before it is killed. */
const LONG = {
  cpuMs: 60_000,
  wallMs: 60_000,
  memoryBytes: 512 * MB,
  outputBytesMax: 1000 * MB,
  fileBytesMax: 1000 * MB,
  diskBytesMax: 1000 * MB,
}

/** Starts it, and waits until its program is there. */
async function start({ run }: Rig, attack: string | null) {
  const ended = attack === null ? null : run(['/work/attacks', attack], LONG)
  ended?.catch(() => {}) // looked at later
  if (ended !== null) await until('the program runs', () => boxedProcesses().some(({ name }) => name === 'attacks'))
  return { ended }
}

for (const [step, attack] of Object.entries(STEPS)) {
  describe(`killed ${step}`, SAFETY, () => {
    test('the helper takes everything with it, and the next run gets another', async (t) => {
      const rig = await setup(t, { workFolder: attackFolder() })
      assert.equal((await rig.run(['/bin/true'])).report.verdict, 'OK')
      const { helper, first } = processesOf()
      const namespace = namespaceOf(first) ?? ''
      const { ended } = await start(rig, attack)

      process.kill(helper, 'SIGKILL')

      // Between runs it is the next one that finds it gone.
      await assert.rejects(
        ended ?? rig.run(['/bin/true']),
        (error) => error instanceof ProtocolError && error.reason === 'no_answer',
      )
      await until('nothing is left in the box', () => processesIn(namespace).length === 0)
      assert.equal((await rig.run(['/bin/true'])).report.verdict, 'OK')
      assert.equal(new Set(ownCgroups()).size, hasCgroups ? 1 : 0, 'only that of the new helper')
    })

    test('the box ends its run as SE, and the next run gets another box', async (t) => {
      const rig = await setup(t, { workFolder: attackFolder() })
      assert.equal((await rig.run(['/bin/true'])).report.verdict, 'OK')
      const { first } = processesOf()
      const namespace = namespaceOf(first) ?? ''
      const { ended } = await start(rig, attack)

      process.kill(first, 'SIGKILL')

      const { report } = await (ended ?? rig.run(['/bin/true']))
      assert.equal(report.verdict, 'SE')
      await until('nothing is left in the box', () => processesIn(namespace).length === 0)
      assert.equal((await rig.run(['/bin/true'])).report.verdict, 'OK')
    })
  })
}

test('killed at any moment while a box is opened, the helper leaves nothing', SAFETY, async () => {
  const before = leftovers()
  for (let afterMs = 0; afterMs < 12; afterMs += 0.5) {
    const runner = (await sandbox()).openRunner()
    const opened = runner.open({ workFolder: attackFolder(), writable: false, readOnlyPaths: [] })
    opened.catch(() => {}) // looked at later
    await until('the helper is there', () => boxedProcesses().length > 0)
    await sleep(afterMs)
    const [helper] = boxedProcesses()
    assert(helper !== undefined)
    process.kill(helper.pid, 'SIGKILL')

    await opened.catch((error: unknown) => assert(error instanceof ProtocolError, String(error)))
    await runner.close()
  }
  await until('nothing is left', () => boxedProcesses().length === 0)
  assert.deepEqual(leftovers(), before)
})

describe('the driver', SAFETY, () => {
  /** Another process that runs programs: a fork bomb and a sleeper in two runners. */
  const startDriver = async (t: TestContext) => {
    const script = `
      import { openSandbox } from ${JSON.stringify(runnable(new URL('../../src/doors/judge/sandbox/sandbox.ts', import.meta.url)).href)}
      const nothing = () => {}
      const sandbox = await openSandbox({ cacheFolder: process.argv[1], mode: 'agent', degraded: '${hasCgroups ? 'refuse' : 'allow'}', cgroup: '', stdoutLimitBytes: 1e6,
        stderrLimitBytes: 1e6, onProtocolError: nothing, onTruncated: nothing, onFallBack: nothing })
      for (const attack of ['fork_bomb', 'daemons', 'sleeps_ignoring_signals']) {
        const box = await sandbox.openRunner().open({ workFolder: process.argv[2], writable: false, readOnlyPaths: [] })
        void box.run({ jobId: 'j', attemptId: 1, argv: ['/work/attacks', attack], env: {}, stdinPath: null, stdoutPath: null, stderrPath: null,
          cpuMs: 60_000, wallMs: 60_000, memoryBytes: 6.4e7, processesMax: 16, outputBytesMax: 1e6, fileBytesMax: 1e6, stackBytes: 1e6 })
      }
      console.log('running')`
    const work = attackFolder()
    await sandbox() // has built the helper
    const cache = join(work, '..', 'cache')
    const child = spawn(process.execPath, [...LOADER, '--input-type=module', '-e', script, cache, work], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    atEnd(t, () => child.kill('SIGKILL'))
    await once(child.stdout, 'data')
    const pid = child.pid ?? 0
    await until('its programs run', () => ownCgroups(pid).length > 0 === hasCgroups && childrenOf(pid).length === 3)
    return { child, pid, helpers: childrenOf(pid) }
  }
  const childrenOf = (parent: number) =>
    readdirSync('/proc')
      .map(Number)
      .filter((pid) => {
        try {
          return new RegExp(`\\) \\S ${parent} `).test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
        } catch {
          return false
        }
      })
  test('killed: its helpers see it, kill what runs and remove their cgroups by themselves', async (t) => {
    const { child, pid, helpers } = await startDriver(t)

    child.kill('SIGKILL')

    await until('its helpers are gone', () => helpers.every((helper) => !existsSync(`/proc/${helper}`)))
    await until('its cgroups are, too', () => ownCgroups(pid).length === 0)
  })

  test('killed together with its helpers: everything dies, and the next one to start removes the cgroups', async (t) => {
    const { child, pid, helpers } = await startDriver(t)
    const firsts = helpers.flatMap(childrenOf)
    const namespaces = firsts.map((first) => namespaceOf(first) ?? '')
    assert.equal(namespaces.length, 3)

    child.kill('SIGSTOP') // so that it cannot clean up
    for (const helper of helpers) process.kill(helper, 'SIGKILL')
    child.kill('SIGKILL')
    await once(child, 'close')

    await until('nothing runs', () => namespaces.every((namespace) => processesIn(namespace).length === 0))
    assert.equal(ownCgroups(pid).length > 0, hasCgroups, 'the dead cannot')
    if (hasCgroups) await openCgroups(knownHierarchy())
    assert.deepEqual(ownCgroups(pid), [])
  })

  const skip = hasCgroups ? noBoxes : 'there are no cgroups'
  test('removes only the cgroups of dead processes, and kills what still runs in them', { skip }, async (t) => {
    const { version, trees } = knownHierarchy()
    const name = `reeve-sweep-${process.pid}`
    const swept = { version, trees: trees.map(({ mount, base }) => ({ mount, base: join(base, name) })) }
    const mine = await (await openCgroups(swept)).newHelper()
    atEnd(t, () => mine.remove())
    const folder = mine.args[1] ?? ''
    const [, namespace] = /helper-(\d+)-/.exec(folder) ?? []
    const dead = folder.replace(/helper-.*/, `helper-${namespace}-4194304-1-1-1`)
    mkdirSync(join(dead, 'run'), { recursive: true })
    const sleeper = spawn('/bin/sh', ['-c', `echo $$ > ${dead}/run/cgroup.procs; echo in; exec sleep 1000`])
    atEnd(t, () => sleeper.kill('SIGKILL'))
    await once(sleeper.stdout, 'data')

    await openCgroups(swept)

    assert.equal(existsSync(dead), false)
    assert.equal(existsSync(folder), true)
    const [, signal] = sleeper.signalCode === null ? await once(sleeper, 'close') : [null, sleeper.signalCode]
    assert.equal(signal, 'SIGKILL')
  })
})

function knownHierarchy(): Hierarchy {
  assert(typeof hierarchy !== 'string', String(hierarchy))
  return hierarchy
}

test('the tests above leave no cgroup and no process', { skip: noBoxes }, () => {
  const { cgroups, processes } = leftovers()
  assert.deepEqual({ cgroups, processes }, { cgroups: [], processes: [] })
})
