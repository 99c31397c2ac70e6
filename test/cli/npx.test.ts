import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../support/servers.ts'

test('npx reeve runs what is built: it installs and builds nothing', async (t) => {
  const home = await temporaryFolder(t)
  const cache = join(home, 'cache')

  const { status, stdout, stderr } = spawnSync('npx', ['--offline', 'reeve', '--version'], {
    env: { PATH: process.env['PATH'] ?? '', HOME: home, npm_config_cache: cache },
    encoding: 'utf8',
  })

  assert.equal(status, 0, stderr)
  assert.match(stdout, /^\d+\.\d+\.\d+\n$/)
  assert(!existsSync(join(cache, '_npx')), 'npx has installed the package into its cache')
})
