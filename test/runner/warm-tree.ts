// A server with every door starts and answers, and what V8 compiled of the tree (tree.ts) meanwhile is kept for the processes of tests.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { compiled } from '../compile.ts'
import { cacheOf, KEEP } from './load-tree.ts'
import type { Scratch } from './scratch.ts'

const STARTED = 'test/runner/warm-server.ts'

/** If it fails, the tests say why, or are only slower. */
export async function warmTree(tree: string, env: NodeJS.ProcessEnv, scratch: Scratch): Promise<void> {
  if (existsSync(cacheOf(tree))) return
  const place = scratch.open()
  const child = spawn(process.execPath, [compiled(STARTED)], {
    stdio: 'ignore',
    env: { ...env, ...place.env, [KEEP]: 'true' },
  })
  await once(child, 'exit')
  await place.clear()
}
