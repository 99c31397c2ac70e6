// A cluster is made beside its place and moved there when it is complete and on disk: a folder named `postgres` is never
// half a cluster, whenever the process that makes it is killed.
import { chown, mkdtemp, readdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Binaries } from './binaries.ts'
import { launch } from './launch.ts'
import type { LogFile } from './log-file.ts'
import { giveTree, ownerOf } from './ownership.ts'
import type { RunAs } from './run-as.ts'
import { StartError } from '../start-error.ts'
import { syncFolder } from '../files/sync-folder.ts'

export const DATABASE = 'reeve'
export const USER = 'reeve'
const UNFINISHED = 'postgres.new-'
const RM_RETRIES_MAX = 20 // the initdb of a killed process may still be writing

export interface ClusterPlace {
  dataDir: string
  cluster: string
}

export const hasCluster = async (dataDir: string): Promise<boolean> =>
  (await ownerOf(join(dataDir, 'postgres'))) !== null

/** Creates the cluster if there is none, and makes sure that it belongs to whoever will run it. */
export async function ensureCluster(
  { dataDir, cluster }: ClusterPlace,
  {
    binaries,
    runAs,
    logFile,
    log,
  }: { binaries: Binaries; runAs: RunAs; logFile: LogFile; log: (line: string) => void },
): Promise<void> {
  if ((await ownerOf(cluster)) !== null) {
    await refuseOtherMajor(cluster, binaries.major)
    return giveIfRoot(cluster, runAs)
  }

  log(`creating the database in ${cluster}`)
  await removeUnfinished(dataDir)
  const folder = await mkdtemp(join(dataDir, UNFINISHED))
  if (process.getuid?.() === 0) await chown(folder, runAs.owner.uid, runAs.owner.gid)
  await initialise(folder, binaries, async (command, input = '') => {
    const said = logFile.mark()
    const { code, signal } = await (await launch({ runAs, command, outputFd: logFile.fd, input })).exited
    if (code === 0) return
    throw new StartError(
      `The database was not created, ${command[0]} ended with ${signal ?? code}: ${await said.tail()}`,
    )
  })
  await rename(folder, cluster)
  await syncFolder(dataDir)
}

/** PostgreSQL reads a cluster of its own major only. */
async function refuseOtherMajor(cluster: string, major: number): Promise<void> {
  const made = Number.parseInt(await readFile(join(cluster, 'PG_VERSION'), 'utf8'))
  if (made === major) return
  throw new StartError(
    `The database in ${cluster} was made by PostgreSQL ${made}, and this version of Reeve has PostgreSQL ${major}. ` +
      'With the version of Reeve that made it: reeve backup FILE. ' +
      'Then, with this version and an empty data folder (REEVE_DATA_DIR): reeve restore FILE.',
  )
}

async function initialise(
  folder: string,
  { initdb, postgres }: Binaries,
  run: (command: readonly string[], input?: string) => Promise<void>,
): Promise<void> {
  const locale = ['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
  await run([initdb, '-D', folder, `--username=${USER}`, '--auth=trust', '--no-sync', '--no-instructions', ...locale])

  // One pass at the end puts the whole cluster on disk, instead of one for each step.
  const quick = ['-c', 'fsync=off', '-c', 'shared_buffers=16MB', '-c', 'log_checkpoints=off']
  await run([postgres, '--single', ...quick, '-D', folder, 'postgres'], `create database ${DATABASE}\n`)
  await run([initdb, '--sync-only', '-D', folder])
}

async function giveIfRoot(cluster: string, runAs: RunAs): Promise<void> {
  if (process.getuid?.() === 0) await giveTree(cluster, runAs.owner)
}

async function removeUnfinished(dataDir: string): Promise<void> {
  for (const name of await readdir(dataDir)) {
    if (!name.startsWith(UNFINISHED)) continue
    await rm(join(dataDir, name), { recursive: true, force: true, maxRetries: RM_RETRIES_MAX })
  }
}
