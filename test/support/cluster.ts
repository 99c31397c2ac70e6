// Data folders whose PostgreSQL has been initialised already: test/run.ts makes one cluster, and tests copy it. Making one takes a
// second of a core, and waits for the disk.
import { execFile } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startEmbedded } from '../../src/core/embedded/server.ts'

const given = process.env['REEVE_TEST_CLUSTER']
const run = promisify(execFile)

/** As a first start leaves it. When a file is run alone, the folder stays empty, and the first start makes the cluster. */
export async function withCluster(dataDir: string): Promise<string> {
  if (given === undefined) return dataDir
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await run('cp', ['-R', '-p', given, join(dataDir, 'postgres')])
  return dataDir
}

/** The cluster to copy, below this folder. As REEVE_TEST_CLUSTER. */
export async function makeCluster(folder: string): Promise<string> {
  const dataDir = join(folder, 'cluster')
  const server = await startEmbedded({ dataDir, settings: { fsync: 'off' } })
  await server.stop()
  return join(dataDir, 'postgres')
}
