// A PostgreSQL that is stopped as by a power cut and started again on the same folder and socket.
import { rm } from 'node:fs/promises'
import type { TestContext } from 'node:test'
import { startEmbedded } from '../../src/core/embedded/server.ts'
import { atEnd } from '../support/cleanup.ts'
import { withCluster } from '../support/cluster.ts'
import { FAST_SETTINGS, temporaryFolder, type PgConnection } from '../support/servers.ts'

export interface KillablePostgres {
  at: PgConnection
  kill(): Promise<void>
  startAgain(): Promise<void>
  killAndStartAgain(): Promise<void>
}

export async function killablePostgres(t: TestContext): Promise<KillablePostgres> {
  const dataDir = await withCluster(await temporaryFolder())
  const start = () => startEmbedded({ dataDir, settings: FAST_SETTINGS })
  let server = await start()
  atEnd(t, async () => {
    await server.stop()
    await rm(dataDir, { recursive: true, force: true })
  })
  const kill = async () => {
    process.kill(server.pid, 'SIGQUIT')
    await server.exited
  }
  const startAgain = async () => {
    server = await start()
  }
  return {
    at: server.connection,
    kill,
    startAgain,
    async killAndStartAgain() {
      await kill()
      await startAgain()
    },
  }
}
