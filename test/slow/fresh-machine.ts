// A Debian that has nothing but Node and git follows the README to a running server, as root and as a plain user, and docs/install.md to
// one under systemd. It has no compiler, so that the judge is off and says why. Then a compiler is installed, and the same unit judges.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { readSamples } from '../documents/samples.ts'
import { NO_COMPILER, untilReady, withDebian } from './debian.ts'
import { boot, runVirtual, type Machine } from './machine.ts'
import { has, run } from './program.ts'
import { until } from '../support/until.ts'

const PACKAGES = ['systemd', 'systemd-sysv', 'dbus', 'git']
const PORT = '18080'
const ORIGIN = 'https://git.example.org/reeve'

/** Null: there is one. */
export function whyNoMachine(): string | null {
  if (process.platform !== 'linux') return 'this is not Linux'
  if (process.getuid?.() !== 0) return 'not root'
  const missing = ['debootstrap', 'systemd-nspawn'].filter((program) => !has(program))
  return missing.length === 0 ? null : `${missing.join(', ')} not installed`
}

export async function followReadme(): Promise<boolean> {
  await withDebian(PACKAGES, async (root) => {
    run('git', ['clone', '--quiet', '--bare', '.', join(root, 'srv/reeve.git')])
    const machine = await boot(root)
    try {
      // The folder belongs to another user than some who clone it.
      machine.run('git config --system --add safe.directory "*" && useradd --create-home --shell /bin/bash ann')
      for (const user of ['root', 'ann']) await startsAs(user, machine)
      await runsAsService(machine)
      machine.run('apt-get update -qq && apt-get install -y -qq --no-install-recommends gcc libc6-dev python3')
    } finally {
      await machine.shutDown()
    }
    judgesAsService(root)
  })
  return true
}

/** The README's "Start". */
async function startsAs(user: string, machine: Machine): Promise<void> {
  const [install = '', start = ''] = sample('README.md', 'npm start').trim().split(' && ')
  assert.deepEqual([install, start], ['npm ci', 'npm start'])
  machine.run(`git clone --quiet /srv/reeve.git ~/reeve && cd ~/reeve && ${install}`, user)

  const server = machine.start(`cd ~/reeve && export SERVER_PORT=${PORT} && exec ${start}`, user)
  await untilReady(PORT, server.isOver)
  const doctor = machine.run(`cd ~/reeve && SERVER_PORT=${PORT} npx reeve doctor || true`, user)
  const said = await server.interrupt()

  assert.match(said, /the admin is admin with the password /)
  assert.match(said, NO_COMPILER)
  assert.match(said, /"msg":"stopped"/)
  assert.match(doctor, /^ok +database .*^failed +sandbox /ms)
  machine.run('rm -rf ~/reeve', user)
  console.log(`✔ the README, as ${user}`)
}

/** docs/install.md, "On a machine, with systemd". */
async function runsAsService(machine: Machine): Promise<void> {
  machine.run(sample('docs/install.md', 'useradd').replace(ORIGIN, '/srv/reeve.git'))
  machine.run(`echo SERVER_PORT=${PORT} >> /etc/reeve/reeve.env`)
  machine.run(sample('docs/install.md', 'systemctl enable'))
  await untilReady(PORT, () => false)
  const journal = machine.run(sample('docs/install.md', 'journalctl'))
  assert.match(journal, /the admin is admin with the password /)
  await until('the log says why the judge is off', () =>
    NO_COMPILER.test(machine.run('journalctl -u reeve --no-pager')),
  )
  assert.equal(sample('docs/install.md', 'reeve doctor'), 'reeve user list\nreeve doctor\n')
  assert.match(machine.run('reeve user list'), /admin +PLAYER, ADMIN/)
  assert.match(machine.run('reeve doctor || test $? = 1'), /^ok +database +the running server.*^failed +sandbox /ms)
  assert.match(machine.run("echo '{}' | reeve job submit echo - --wait --json"), /"state":"done"/)

  machine.run('systemctl start reeve-backup.service && test -s /var/lib/reeve-backups/reeve-*.backup')
  assert.match(machine.run('systemctl list-timers --no-pager reeve-backup.timer'), /reeve-backup\.service/)
  assert.equal(machine.run('stat -c %U:%a /var/lib/reeve /etc/reeve/reeve.env'), 'reeve:700\nroot:600\n')

  machine.run('systemctl restart reeve')
  await untilReady(PORT, () => false)
  machine.run('systemctl stop reeve')
  assert.match(machine.run('systemctl show reeve -p Result'), /=success/)
  console.log('✔ docs/install.md, with systemd')
}

/** The judge's sandbox under the unit's hardening, with a delegated cgroup v2. */
function judgesAsService(root: string): void {
  if (!has('linux.uml'))
    return console.log('﹣ user-mode-linux is not installed: the judge under the unit is not tried')
  rmSync(join(root, 'srv'), { recursive: true })
  const said = runVirtual(root, JUDGES)
  assert.match(said, /^ok +sandbox /m, said)
  assert.match(said, /^Accepted /m, said)
  assert.match(said, /^Result=success$/m, said)
  console.log('✔ the judge, under the unit')
}

const JUDGES = `
uname -r
systemctl enable --now reeve
printf 'input()\\npaid = list(map(int, input().split()))\\nprint(sum(paid), max(paid))\\n' > /tmp/sum.py
until reeve problem list; do sleep 1; done
reeve doctor || test $? = 1
until node -e 'fetch("http://127.0.0.1:${PORT}/readyz").then(({ ok }) => process.exit(ok ? 0 : 1))'; do sleep 1; done
reeve submit /tmp/sum.py --problem market-day --wait
systemctl stop reeve
systemctl show reeve -p Result
`

function sample(page: string, words: string): string {
  const found = readSamples().find(({ at, text }) => at.startsWith(`${page}:`) && text.includes(words))
  assert(found !== undefined, `${page} has no sample with ${words}`)
  return found.text
}
