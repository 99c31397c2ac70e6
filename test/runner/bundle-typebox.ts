// TypeBox is seven hundred small files, and reading them was most of what the start of a process cost (0.4 of 0.9 seconds of a core).
// The tests start hundreds of processes. So build/node_modules holds it in a few files, where what was compiled into build/ finds it
// before the original. It is one bundle: both packages share one TypeBox.
import { buildSync } from 'esbuild'
import { lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const PROVIDER = '@fastify/type-provider-typebox'
const ENTRIES = { index: 'typebox', compile: 'typebox/compile', value: 'typebox/value', provider: PROVIDER }

export function bundleTypebox(build: string): void {
  const modules = join(build, 'node_modules')
  if (lstatSync(modules, { throwIfNoEntry: false })?.isSymbolicLink() === true) rmSync(modules)
  const version = versionIn('node_modules')
  if (versionIn(modules) === version) return

  const outdir = join(modules, 'typebox')
  buildSync({ entryPoints: ENTRIES, outdir, bundle: true, splitting: true, format: 'esm', platform: 'node' })
  mkdirSync(join(modules, PROVIDER), { recursive: true })
  writeFileSync(join(modules, PROVIDER, 'index.js'), `export * from 'typebox/provider'\n`)
  writePackage(join(modules, PROVIDER), { name: PROVIDER, exports: './index.js' })
  const names = Object.keys(ENTRIES)
  const exports = Object.fromEntries(names.map((name) => [name === 'index' ? '.' : `./${name}`, `./${name}.js`]))
  writePackage(outdir, { name: 'typebox', version, exports })
}

function writePackage(folder: string, content: object): void {
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ ...content, type: 'module' }))
}

/** Of the package in this folder of modules, or null. */
function versionIn(modules: string): string | null {
  try {
    return JSON.parse(readFileSync(join(modules, 'typebox/package.json'), 'utf8')).version
  } catch {
    return null
  }
}
