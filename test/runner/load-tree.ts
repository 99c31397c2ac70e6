// Runs the tree (tree.ts) with what V8 has compiled of it, if that was kept. Every started file that needs it calls `openTree` first.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { Script } from 'node:vm'

/** Set for the process whose compiled code is kept. */
export const KEEP = 'REEVE_TEST_KEEP_COMPILED'
/** V8 refuses what another version of it has compiled. */
export const cacheOf = (tree: string): string => `${tree}.${process.version}.cache`

const opened = new Set<string>()

/** As `globalThis.reeveTree`: its modules by their names, as functions that load them. */
export function openTree(file: string): void {
  if (opened.has(file)) return // several files of tests in one process
  opened.add(file)
  const cache = cacheOf(file)
  const script = new Script(readFileSync(file, 'utf8'), {
    filename: file,
    ...(existsSync(cache) ? { cachedData: readFileSync(cache) } : {}),
  })
  if (process.env[KEEP] !== undefined) process.once('exit', () => keepCompiled(script, cache))
  const module = { exports: {} }
  const loadIn = (url: string): Promise<unknown> => import(url)
  script.runInThisContext()(createRequire(file), module, module.exports, loadIn)
  Reflect.set(globalThis, 'reeveTree', module.exports)
}

function keepCompiled(script: Script, cache: string): void {
  const draft = `${cache}-${process.pid}`
  writeFileSync(draft, script.createCachedData())
  renameSync(draft, cache)
}
