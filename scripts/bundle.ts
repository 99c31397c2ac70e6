// Finding, reading and linking hundreds of modules is most of what a start of the command costs. So the build writes
// dist/cli/main.js once more as a bundle, over what the compiler wrote there. Everything else in dist/ stays a module by itself:
// threads and other programs import it.
import { build, type BuildOptions, type Plugin } from 'esbuild'
import { readFileSync, rmSync } from 'node:fs'
import { relative } from 'node:path'

/** Packages that need no file beside them. The others are found in node_modules as ever. */
export const BUNDLED = [
  '@fastify/fast-json-stringify-compiler',
  '@fastify/formbody',
  '@fastify/helmet',
  '@fastify/static',
  '@fastify/swagger',
  '@fastify/swagger-ui',
  '@fastify/type-provider-typebox',
  '@fastify/websocket',
  'commander',
  'decimal.js',
  'fastify',
  'fraction.js',
  'glicko2-lite',
  'ioredis',
  'ipaddr.js',
  'parse5-html-rewriting-stream',
  'pg',
  'pg-protocol', // decode-long-text.ts changes the copy that pg uses
  'pino',
  'prom-client',
  're2js',
  's3mini',
  'typebox',
  'uuid',
  'ws',
  'yaml',
  'yauzl',
]

const COMMAND = 'src/cli/main.ts'
export const CHUNKS = 'chunks'

/** Modules of CommonJS ask for `require`. */
const REQUIRE_BANNER = `import { createRequire as __createRequire } from 'node:module'; const require = __createRequire(import.meta.url);`

/** A program of Node.js. What several entries need, or what is imported while it runs, becomes a chunk. */
export const SPLIT = {
  bundle: true,
  splitting: true,
  chunkNames: `${CHUNKS}/[name]-[hash]`,
  format: 'esm',
  platform: 'node',
  target: 'node20',
  logLevel: 'error',
  banner: { js: REQUIRE_BANNER },
} as const satisfies BuildOptions

/** Every other package stays an import. */
export const packagesPlugin = (bundled: readonly string[]): Plugin => ({
  name: 'packages',
  setup({ onResolve }) {
    onResolve({ filter: /^[^./]/ }, ({ path, importer, kind }) => {
      if (kind === 'entry-point' || importer.includes('/node_modules/')) return undefined
      return bundled.some((name) => path === name || path.startsWith(`${name}/`)) ? undefined : { path, external: true }
    })
  },
})

/** A module that looks for a file beside it finds it beside the module that the compiler wrote. Every output is one folder deep. */
const places: Plugin = {
  name: 'places',
  setup({ onLoad }) {
    onLoad({ filter: /\/src\/.*\.ts$/ }, ({ path }) => {
      const place = `../${relative('src', path).replace(/\.ts$/, '.js')}`
      const url = `new URL(${JSON.stringify(place)}, import.meta.url).href`
      return { contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', url), loader: 'ts' }
    })
  },
}

export async function bundleCommand(): Promise<void> {
  rmSync(`dist/${CHUNKS}`, { recursive: true, force: true })
  await build({
    entryPoints: [COMMAND],
    outdir: 'dist',
    outbase: 'src',
    ...SPLIT,
    legalComments: 'linked',
    plugins: [packagesPlugin(BUNDLED), places],
  })
}
