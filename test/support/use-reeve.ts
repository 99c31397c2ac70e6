// A server for several tests of a file, one after the other. To start and stop one costs more than most tests do.
import { atEnd, FILE, type Scope } from './cleanup.ts'
import { emptyInUse } from './database.ts'
import { insertAdmin, startReeve, type Reeve, type ReeveOptions } from './reeve.ts'

export interface UseOptions extends ReeveOptions {
  /** False for a test that looks at what a server counts or remembers, or that needs several servers. */
  isShared?: boolean
}

/** By their options, those that no test is using. */
const idle = new Map<string, Reeve[]>()
const IDLE_MAX = 2 // each of them looks for work every second

/** What a server writes when it starts, and remembers. */
const KEPT = [
  'arena_nodes',
  'judge_workers',
  'pool_server_keys',
  'captcha_key',
  'captcha_domain',
  'pool_requirement_classes',
]

/**
 * A server that was started with these options, on an empty database. It may have served earlier tests: its counters, its memory
 * and the ids of its rows are not those of a new one.
 */
export function useReeve(t: Scope, { isShared = true, ...options }: UseOptions = {}): Promise<Reeve> {
  const { on, dataDir, lines, onStep, env = {} } = options
  const isPlain = [on, dataDir, lines, onStep, env['REDIS_URL']].every((given) => given === undefined)
  return isShared && isPlain ? useShared(t, options) : startReeve(t, options)
}

async function useShared(t: Scope, options: ReeveOptions): Promise<Reeve> {
  const key = JSON.stringify(options)
  const reeve = idle.get(key)?.pop() ?? (await startReeve(FILE, options))
  let isStopped = false
  atEnd(t, async () => {
    if (isStopped) return undefined
    if (!(await emptyInUse(reeve.at, KEPT))) return reeve.stop()
    await insertAdmin(reeve.database)
    return giveBack(key, reeve)
  })
  return {
    ...reeve,
    stop() {
      isStopped = true
      return reeve.stop()
    },
  }
}

async function giveBack(key: string, reeve: Reeve): Promise<void> {
  const free = [...(idle.get(key) ?? []), reeve]
  idle.delete(key)
  idle.set(key, free) // the options that were used last are at the end
  const isCrowded = [...idle.values()].flat().length > IDLE_MAX
  const oldest = [...idle.values()].find((some) => some.length > 0)
  if (isCrowded) await oldest?.shift()?.stop()
}
