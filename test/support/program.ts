// How a test starts a script of this tree in another process: as test/run.ts compiled it, or, when a file is run by itself, as it
// is written. (A process that has to go through tsx first spends three seconds of a core more until it is ready.)
import { fileURLToPath } from 'node:url'

const IS_COMPILED = import.meta.url.endsWith('.js')

/** Where everything is found as in the repository: the repository, or what was compiled of it. */
export const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** A module of this tree as it can be imported. */
export const runnable = (module: URL): URL => (IS_COMPILED ? new URL(module.href.replace(/\.ts$/, '.js')) : module)

/** What Node needs before a script. */
export const LOADER: readonly string[] = IS_COMPILED ? [] : ['--import', import.meta.resolve('tsx')]

export const nodeArgs = (script: URL): string[] => [...LOADER, fileURLToPath(runnable(script))]

/** The `reeve` command. */
export const REEVE = nodeArgs(new URL('../../src/cli/main.ts', import.meta.url))
