// Installs the packages that the benchmarks compare Reeve with, unless the installed ones are those of the lock file.
import { spawnSync } from 'node:child_process'
import { statSync } from 'node:fs'

const changedAt = (file) => statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
if (changedAt('bench/node_modules/.package-lock.json') <= changedAt('bench/package-lock.json')) {
  const { status } = spawnSync('npm', ['ci', '--prefix', 'bench', '--no-audit', '--no-fund', '--loglevel=error'], {
    stdio: 'inherit',
  })
  process.exitCode = status ?? 1
}
