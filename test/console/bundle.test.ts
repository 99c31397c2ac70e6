// What a browser loads before it shows the first page, and what the console shows of the documents.
import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'

const DIST = 'console/dist'
const INITIAL_BYTES_MAX = 170_000

test('the initial load is at most 170 KB gzipped', (t) => {
  if (!existsSync(`${DIST}/index.html`)) return t.skip('the console is not built: npm run build')
  const page = readFileSync(`${DIST}/index.html`, 'utf8')
  const named = [...page.matchAll(/(?:src|href)="\/console\/(assets\/[^"]+)"/g)].map((match) => match[1] ?? '')
  const first = ['front-page', 'sign-in-form'].flatMap((name) =>
    readdirSync(`${DIST}/assets`)
      .filter((file) => file.startsWith(`${name}-`) && /\.(?:js|css)$/.test(file))
      .map((file) => `assets/${file}`),
  )
  const files = withImports(new Set([...named, ...first]))
  const sizes = [...files].map((file) => [file, gzipSync(readFileSync(`${DIST}/${file}`)).length] as const)
  const bytes = sizes.reduce((sum, [, size]) => sum + size, 0)

  assert(files.size > 3)
  assert(bytes <= INITIAL_BYTES_MAX, `${bytes} bytes: ${JSON.stringify(sizes)}`)
  return undefined
})

/** With what they import at once. */
function withImports(files: Set<string>): Set<string> {
  for (const file of files) {
    if (!file.endsWith('.js')) continue
    const code = readFileSync(`${DIST}/${file}`, 'utf8')
    for (const [, name = ''] of code.matchAll(/\bfrom"\.\/([\w.-]+\.js)"|^import"\.\/([\w.-]+\.js)"/g))
      if (name !== '') files.add(`assets/${name}`)
  }
  return files
}

test('the build has compressed copies of every script and style sheet over 1 KB', (t) => {
  if (!existsSync(`${DIST}/index.html`)) return t.skip('the console is not built: npm run build')
  const large = readdirSync(`${DIST}/assets`).filter(
    (file) => /\.(?:js|css)$/.test(file) && readFileSync(`${DIST}/assets/${file}`).length > 1024,
  )
  assert.deepEqual(
    large.filter((file) => !existsSync(`${DIST}/assets/${file}.br`) || !existsSync(`${DIST}/assets/${file}.gz`)),
    [],
  )
  return undefined
})

test('every document is listed', () => {
  const list = readFileSync('console/src/routes/docs/documents.ts', 'utf8')
  const names = ['docs', 'docs/guides']
    .flatMap((folder) => readdirSync(folder))
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .map((file) => file.slice(0, -'.md'.length))

  assert(names.length > 20)
  assert.deepEqual(
    names.filter((name) => !list.includes(`['${name}', `)),
    [],
  )
})
