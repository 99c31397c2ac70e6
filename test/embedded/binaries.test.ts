import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { chmod, mkdir, readlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { findBinaries, makeLinks } from '../../src/core/embedded/binaries.ts'
import { asRoot, makeFolder, NOBODY } from './setup.ts'
import { LOADER, runnable } from '../support/program.ts'

async function setup(t: TestContext) {
  const folder = await makeFolder(t)
  const lib = join(folder, 'native', 'lib')
  await mkdir(lib, { recursive: true })
  await writeFile(join(lib, 'libpq.so.5.18'), '')
  const links = ['libpq.so', 'libpq.so.5'].map((name) => ({
    source: 'native/lib/libpq.so.5.18',
    target: `native/lib/${name}`,
  }))
  await writeFile(join(folder, 'native', 'pg-symlinks.json'), JSON.stringify(links))
  return { folder, lib }
}

describe('binaries', () => {
  test('links that the install script did not make are made, by any number of starts at once', async (t) => {
    const { folder, lib } = await setup(t)

    await Promise.all([makeLinks(folder), makeLinks(folder), makeLinks(folder)])

    assert.equal(await readlink(join(lib, 'libpq.so')), 'libpq.so.5.18')
    assert.equal(await readlink(join(lib, 'libpq.so.5')), 'libpq.so.5.18')
  })

  test('links that cannot be made are named in one sentence', asRoot, async (t) => {
    const { folder } = await setup(t)
    await chmod(folder, 0o755)
    const script = `const { makeLinks } = await import(process.argv[1]); await makeLinks(process.argv[2])`
    const args = [...LOADER, '--input-type=module', '-e', script]
    const module = runnable(new URL('../../src/core/embedded/binaries.ts', import.meta.url)).href

    const made = promisify(execFile)(process.execPath, [...args, module, folder], { uid: NOBODY, gid: NOBODY })

    await assert.rejects(
      made,
      /lacks native\/lib\/libpq\.so, and it cannot be created in .* \(EACCES\): run "npm ci" again/,
    )
  })

  test('a platform without a package is told to set DATABASE_URL', async (t) => {
    const arch = Object.getOwnPropertyDescriptor(process, 'arch') ?? {}
    t.after(() => Object.defineProperty(process, 'arch', arch))
    Object.defineProperty(process, 'arch', { value: 'sparc', configurable: true })

    await assert.rejects(
      findBinaries(),
      /-sparc\) is not installed: set DATABASE_URL to a PostgreSQL server, version 15/,
    )
  })
})
