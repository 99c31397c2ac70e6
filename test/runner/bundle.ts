// Finding, reading and linking twelve hundred modules took two thirds of what the start of a process cost (0.6 of 0.9 seconds of a
// core), and the tests start hundreds. So whatever is started (a file of tests, a script, a thread, the `reeve` command) is written
// into build/ once more as a bundle, over what the compiler wrote there. Everything else in build/ stays a module by itself.
// What needs the server is bundled without what it shares with others, which is one script (tree.ts).
import { build, type Metafile } from 'esbuild'
import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { CHUNKS, packagesPlugin, SPLIT } from '../../scripts/bundle.ts'
import { systemClock } from '../../src/core/clock.ts'
import { PACKAGES, plainPlugins } from './plugins.ts'
import { bundleOnTree, bundleTree, isInTree } from './tree.ts'

const SERVER = 'src/main.ts'
/** The command, which loads what it needs, and the thread that judges. */
const LARGE = ['src/cli/main.ts', 'src/doors/judge/work/judge-thread.ts']
const LOADER = 'test/runner/load-tree.ts'
const WAITING = 'test/judge/rig.ts' // it awaits something as it is loaded, which a script cannot
const CHUNK_KEPT_MS = 3_600_000

/** `files`: every module of the project. The tree's file. */
export async function bundleStarted(files: readonly string[], folder: string): Promise<string> {
  const imports = await importsOf(files)
  const imported = new Set([...imports.values()].flat())
  const started = files.filter((file) => !imported.has(file) || file === LOADER)
  const withServer = started.filter((file) => LARGE.includes(file) || reaches(file, SERVER, imports))
  const others = started.filter((file) => !withServer.includes(file))

  const modules = reached(withServer, imports).filter((name) => {
    if (!name.endsWith('.ts')) return isInTree(name)
    return !withServer.includes(name) && !reaches(name, WAITING, imports)
  })
  const [tree] = await Promise.all([bundleTree(modules, folder), bundle(others, folder)])
  await bundleOnTree(withServer, folder, tree, modules)
  removeOldChunks(join(folder, CHUNKS))
  return tree
}

/** Not those of the run before this one: it may be going on. */
function removeOldChunks(folder: string): void {
  for (const name of readdirSync(folder)) {
    const chunk = join(folder, name)
    if (statSync(chunk).mtimeMs < systemClock.now() - CHUNK_KEPT_MS) rmSync(chunk)
  }
}

/** `changed`: what some modules read in place of what is written, by their paths. */
export async function bundle(
  entries: readonly string[],
  folder: string,
  changed: ReadonlyMap<string, string> = new Map(),
): Promise<void> {
  await build({
    entryPoints: [...entries],
    outdir: folder,
    outbase: '.',
    ...SPLIT,
    sourcemap: 'linked', // inline it would be parsed by every process
    minifyWhitespace: true,
    legalComments: 'none',
    sourcesContent: false,
    plugins: [packagesPlugin(PACKAGES), ...plainPlugins(folder, changed)],
  })
}

/** Which modules and packages each module imports: as it is loaded, or, of the command, when it is asked for. */
async function importsOf(files: readonly string[]): Promise<Map<string, string[]>> {
  const options = { bundle: true, splitting: true, packages: 'external', format: 'esm', platform: 'node' } as const
  const { metafile } = await build({ ...options, entryPoints: [...files], outdir: '.', write: false, metafile: true })
  const inputs: Metafile['inputs'] = metafile.inputs
  return new Map(
    Object.entries(inputs).map(([file, { imports }]) => {
      const loaded = imports.filter(({ kind }) => kind === 'import-statement' || kind === 'dynamic-import')
      return [file, loaded.map(({ path }) => path)]
    }),
  )
}

function reached(from: readonly string[], imports: ReadonlyMap<string, readonly string[]>): string[] {
  const seen = new Set(from)
  for (const file of seen) for (const next of imports.get(file) ?? []) seen.add(next)
  return [...seen]
}

const reaches = (from: string, to: string, imports: ReadonlyMap<string, readonly string[]>): boolean =>
  reached([from], imports).includes(to)
