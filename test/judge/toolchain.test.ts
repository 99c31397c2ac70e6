// Options that depend on what the machine has are asked of the compiler itself.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { findToolchain } from '../../src/doors/judge/languages/toolchain.ts'
import { temporaryFolder } from '../support/servers.ts'

test('a program is linked by gold where the compiler finds that linker', async (t) => {
  const command = await compileCommandOf(t, `echo 'GNU gold (GNU Binutils) 1.16'`)

  assert.deepEqual(command.slice(1), ['-O2', '-fuse-ld=gold', '-fno-use-linker-plugin', '{sources}'])
})

test('a program is linked by the default linker where the compiler does not find gold', async (t) => {
  const command = await compileCommandOf(t, `echo "collect2: fatal error: cannot find 'ld'" >&2; exit 1`)

  assert.deepEqual(command.slice(1), ['-O2', '{sources}'])
})

test('a program is linked by the default linker where the compiler takes another one in the place of gold', async (t) => {
  const command = await compileCommandOf(t, `echo 'GNU ld (GNU Binutils) 2.44'`)

  assert.deepEqual(command.slice(1), ['-O2', '{sources}'])
})

/** With a compiler that answers so when it is asked for its linker. */
async function compileCommandOf(t: TestContext, answer: string): Promise<readonly string[]> {
  const compiler = join(await temporaryFolder(t), 'cc')
  await writeFile(compiler, `#!/bin/sh\n[ "$1" = --version ] && { echo cc 1; exit; }\n${answer}\n`, { mode: 0o755 })
  const found = await findToolchain({
    id: 'c',
    name: 'C',
    extensions: ['.c'],
    source: 'main.c',
    version: [compiler, '--version'],
    compile: [compiler, '-O2', '{linker}', '{sources}'],
    run: ['{dir}/main'],
  })
  assert(!('missing' in found))
  return found.compile ?? []
}
