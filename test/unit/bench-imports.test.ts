// The compiler does not see the benchmarks before their peers are installed. What they import from the server must exist.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { test } from 'node:test'

const IMPORT = /^import (?:type )?\{([^}]*)\} from '((?:\.\.\/)+(?:src|dist)\/[^']+)'/gm

const files = readdirSync('bench', { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.ts') && !file.includes('node_modules'))
  .map((file) => join('bench', file))

const sourceOf = (file: string, path: string): string =>
  normalize(join(dirname(file), path))
    .replace(/^dist\//, 'src/')
    .replace(/\.js$/, '.ts')

const isExported = (source: string, name: string): boolean => {
  const text = readFileSync(source, 'utf8')
  const declared = `^export (?:async )?(?:const|function\\*?|(?:abstract )?class|interface|type|enum) ${name}\\b`
  return new RegExp(declared, 'm').test(text) || new RegExp(`^export (?:type )?\\{[^}]*\\b${name}\\b`, 'm').test(text)
}

test('every name that a benchmark imports from the server is exported there', () => {
  const imported = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(IMPORT)].flatMap(([, names = '', path = '']) =>
      names
        .split(',')
        .map(
          (name) =>
            name
              .trim()
              .replace(/^type /, '')
              .split(' as ')[0] ?? '',
        )
        .filter((name) => name !== '')
        .map((name) => ({ file, name, source: sourceOf(file, path) })),
    ),
  )

  assert(imported.length > 50, `${imported.length}`)
  assert.deepEqual(
    imported.filter(({ source, name }) => !isExported(source, name)),
    [],
  )
})
