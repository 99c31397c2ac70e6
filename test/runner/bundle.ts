// Finding, reading and linking twelve hundred modules took two thirds of what the start of a process cost (0.6 of 0.9 seconds of a
// core), and the tests start hundreds. So whatever is started (a file of tests, a script, a thread, the `reeve` command) is written
// into build/ once more as a bundle, over what the compiler wrote there. Everything else in build/ stays a module by itself.
import { build, type Metafile, type Plugin } from 'esbuild'
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { BUNDLED, packagesPlugin, REQUIRE_BANNER } from '../../scripts/bundle.ts'
import { systemClock } from '../../src/core/clock.ts'

const PACKAGES = [...BUNDLED, 'fast-check']
const SERVER = 'src/main.ts'
const COMMAND = 'src/cli/main.ts'
const CHUNKS = 'chunks'
const CHUNK_KEPT_MS = 3_600_000

/** `files`: every module of the tree. */
export async function bundleStarted(files: readonly string[], folder: string): Promise<void> {
  const imports = await importsOf(files)
  const imported = new Set([...imports.values()].flat())
  const started = files.filter((file) => !imported.has(file))
  const withServer = started.filter((file) => reaches(file, SERVER, imports))
  // What all of a group's entries need is one chunk. A group of its own for those that need the server makes the server one chunk.
  const others = started.filter((file) => file !== COMMAND && !withServer.includes(file))
  await Promise.all([withServer, others, [COMMAND]].map((entries) => bundle(entries, folder)))
  removeOldChunks(join(folder, CHUNKS))
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
    bundle: true,
    splitting: true,
    chunkNames: `${CHUNKS}/[name]-[hash]`,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    sourcemap: 'linked', // inline it would be parsed by every process
    minifyWhitespace: true,
    legalComments: 'none',
    sourcesContent: false,
    logLevel: 'error',
    banner: { js: REQUIRE_BANNER },
    plugins: [packagesPlugin(PACKAGES), emptyMaps, places(folder, changed)],
  })
}

const emptyMaps: Plugin = {
  name: 'empty-maps',
  setup({ onLoad }) {
    // Nobody reads their lines in a stack: an empty map keeps the real one small.
    onLoad({ filter: /\/node_modules\/.*\.[cm]?js$/ }, ({ path }) => ({
      contents: `${readFileSync(path, 'utf8')}\n//# sourceMappingURL=data:application/json;base64,${EMPTY_MAP}`,
      loader: 'js',
    }))
  },
}
const EMPTY_MAP = Buffer.from('{"version":3,"sources":[""],"mappings":"A"}').toString('base64')

/** A module that looks for a file beside it finds it where the compiler would have put the module. */
const places = (folder: string, changed: ReadonlyMap<string, string>): Plugin => ({
  name: 'places',
  setup({ onLoad }) {
    onLoad({ filter: /\.ts$/ }, ({ path }) => {
      const module = path.slice(process.cwd().length + 1)
      const place = resolve(folder, module.replace(/\.ts$/, '.js'))
      const contents = (changed.get(module) ?? readFileSync(path, 'utf8'))
        .replaceAll(/import\.meta\.url/g, JSON.stringify(pathToFileURL(place).href))
        .replaceAll(/import\.meta\.filename/g, JSON.stringify(place))
      return { contents, loader: 'ts' }
    })
  },
})

/** Which modules of the tree each one imports as it is loaded. */
async function importsOf(files: readonly string[]): Promise<Map<string, string[]>> {
  const options = { bundle: true, splitting: true, packages: 'external', format: 'esm', platform: 'node' } as const
  const { metafile } = await build({ ...options, entryPoints: [...files], outdir: '.', write: false, metafile: true })
  const inputs: Metafile['inputs'] = metafile.inputs
  return new Map(
    Object.entries(inputs).map(([file, { imports }]) => {
      const loaded = imports.filter(({ kind, external }) => kind === 'import-statement' && external !== true)
      return [file, loaded.map(({ path }) => path)]
    }),
  )
}

function reaches(from: string, to: string, imports: ReadonlyMap<string, readonly string[]>): boolean {
  const seen = new Set([from])
  for (const file of seen) for (const next of imports.get(file) ?? []) seen.add(next)
  return seen.has(to)
}
