// What every bundle of the tests does with modules and packages.
import type { Plugin } from 'esbuild'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { BUNDLED } from '../../scripts/bundle.ts'

export const PACKAGES = [...BUNDLED, 'fast-check']

export const plainPlugins = (folder: string, changed: ReadonlyMap<string, string> = new Map()): Plugin[] => [
  emptyMaps,
  places(folder, changed),
]

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
