// Most of what a start of the server costs is compiling it (0.3 of 0.7 seconds of a core), and the tests start hundreds. Node 20
// keeps what V8 compiled of a script, not of an ES module. So all modules that started files with the server in them share are one
// script, the tree, in which a module runs when it is first asked for. `load-tree.ts` runs it, `warm-tree.ts` keeps what was compiled.
import { build, type Plugin } from 'esbuild'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { CHUNKS, packagesPlugin, SPLIT } from '../../scripts/bundle.ts'
import { systemClock } from '../../src/core/clock.ts'
import { PACKAGES, plainPlugins } from './plugins.ts'

const LOADER = 'test/runner/load-tree.js'
/** Packages that started files import as well must come from the tree: there would be two of each class otherwise. */
const TREE_PACKAGES = [...PACKAGES, '@reeve/sdk', 'csv-parse', 'pg-copy-streams']

export const isInTree = (name: string): boolean =>
  TREE_PACKAGES.some((packageName) => name === packageName || name.startsWith(`${packageName}/`))

/** `modules`: paths of modules, and names of packages. The name of the script. */
export async function bundleTree(modules: readonly string[], folder: string): Promise<string> {
  const specifier = (module: string) => JSON.stringify(module.endsWith('.ts') ? `./${module}` : module)
  const loads = modules.map((module) => `${JSON.stringify(module)}:()=>require(${specifier(module)})`)
  const { outputFiles } = await build({
    stdin: { contents: `module.exports={${loads.join()}}`, resolveDir: process.cwd() },
    outfile: join(folder, CHUNKS, 'tree.js'),
    write: false,
    bundle: true,
    format: 'cjs',
    platform: SPLIT.platform,
    target: SPLIT.target,
    logLevel: SPLIT.logLevel,
    logOverride: { 'empty-import-meta': 'silent' }, // of a branch that compiled tests do not take
    banner: { js: `(function(require,module,exports,loadIn){"use strict";` },
    footer: { js: '})' },
    sourcemap: 'external',
    minifyWhitespace: true,
    legalComments: 'none',
    sourcesContent: false,
    plugins: [packagesPlugin(TREE_PACKAGES), ...plainPlugins(folder)],
  })
  const texts = new Map(outputFiles.map(({ path, contents }) => [basename(path), contents]))
  const [bundled, map] = ['tree.js', 'tree.js.map'].map((name) => texts.get(name) ?? new Uint8Array())
  if (bundled === undefined || map === undefined) throw new Error('esbuild wrote no tree.')
  // What V8 has kept of a script has forgotten how it imports: the loader does that. The name is as long, for the map.
  const code = Buffer.from(Buffer.from(bundled).toString().replaceAll('await import(', 'await loadIn('))
  const file = resolve(folder, CHUNKS, `tree-${createHash('sha256').update(code).digest('hex').slice(0, 12)}.cjs`)
  mkdirSync(dirname(file), { recursive: true }) // a fresh clone has none until another bundle is written beside this one
  writeNew(file, code)
  writeNew(`${file}.map`, map)
  return file
}

/** Its time says that a run uses it. Another run may be reading what is there. */
function writeNew(file: string, contents: Uint8Array): void {
  if (existsSync(file)) utimesSync(file, systemClock.now() / 1000, systemClock.now() / 1000)
  else writeFileSync(file, contents)
}

/** Started files, each by itself. What they import is taken from the tree. */
export async function bundleOnTree(
  entries: readonly string[],
  folder: string,
  tree: string,
  modules: readonly string[],
) {
  const loader = JSON.stringify(resolve(folder, LOADER))
  await build({
    ...SPLIT,
    entryPoints: [...entries],
    outdir: folder,
    outbase: '.',
    splitting: false,
    banner: { js: `${SPLIT.banner.js} import { openTree } from ${loader}; openTree(${JSON.stringify(tree)});` },
    sourcemap: 'linked',
    minifyWhitespace: true,
    legalComments: 'none',
    sourcesContent: false,
    plugins: [fromTree(new Set(modules)), packagesPlugin([]), ...plainPlugins(folder)],
  })
}

const fromTree = (modules: ReadonlySet<string>): Plugin => ({
  name: 'from-tree',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /./ }, ({ path, resolveDir, kind }) => {
      if (kind === 'entry-point') return undefined
      const module = path.startsWith('.') ? relative(process.cwd(), resolve(resolveDir, path)) : path
      return modules.has(module) ? { path: module, namespace: 'tree' } : undefined
    })
    onLoad({ filter: /./, namespace: 'tree' }, ({ path }) => ({
      contents: `module.exports=globalThis.reeveTree[${JSON.stringify(path)}]()`,
    }))
  },
})
