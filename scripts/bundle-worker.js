// What a worker's machine needs, one file each, for GET /worker.mjs and GET /worker.py.
import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { build } from 'esbuild'

const { version } = JSON.parse(readFileSync('package.json', 'utf8'))

mkdirSync('dist/worker', { recursive: true })
await build({
  entryPoints: ['dist/cli/pool/standalone-worker.js'],
  outfile: 'dist/worker/worker.mjs',
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node20',
  legalComments: 'none',
  define: { REEVE_VERSION: JSON.stringify(version) },
  banner: {
    js: `// A worker of a Reeve pool, version ${version}. MIT licence; it has commander (MIT) in it. node worker.mjs --help\nimport { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`,
  },
})
cpSync('examples/worker.py', 'dist/worker/worker.py')
