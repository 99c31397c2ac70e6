// What a killed Reeve left: a server that is still stopping, one that nobody stopped, or only its pid file. Called by the
// holder of the server's lock, so a running server has no owner: it is stopped, never used, and its files are left alone.
import { rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { pidFilePath, readPidFile } from './pid-file.ts'
import { isAlive, isServerOf, signalProcess } from './processes.ts'
import { StartError } from '../start-error.ts'

const POLL_MS = 20

/** In this order: a fast shutdown writes a checkpoint, an immediate one leaves recovery to the next start. */
const STEPS = [
  { signal: 'SIGINT', waitMs: 20_000 },
  { signal: 'SIGQUIT', waitMs: 10_000 },
] as const

/** Resolves once no server runs on the cluster and none that ran blocks the next. */
export async function clearLeftover(cluster: string, log: (line: string) => void): Promise<void> {
  const found = await readPidFile(cluster)
  if (found === null || !isAlive(found.pid)) return // PostgreSQL replaces the file of a dead server itself

  if (!(await isServerOf(found.pid, cluster))) {
    // After a restart of the machine or container the number belongs to another process, and PostgreSQL would refuse.
    log(`removing the pid file of a database server that is gone (${found.pid})`)
    await rm(pidFilePath(cluster), { force: true })
    return
  }

  log(`waiting for the previous database server (${found.pid}) to stop`)
  for (const { signal, waitMs } of STEPS) {
    signalProcess(found.pid, signal)
    const deadline = AbortSignal.timeout(waitMs)
    while (!deadline.aborted) {
      if (!(await isServerOf(found.pid, cluster))) return
      await sleep(POLL_MS)
    }
  }
  throw new StartError(`The previous database server (process ${found.pid}) on ${cluster} does not stop: end it first.`)
}
