// The real coordinator on a real database, without HTTP: what the routes would call is called directly.
import { sign, type KeyObject } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import type { TestContext } from 'node:test'
import { systemClock } from '../../src/core/clock.ts'
import { parseConfig } from '../../src/core/config.ts'
import { openEngine } from '../../src/core/engine.ts'
import { openFolderStore } from '../../src/core/files/folder-store.ts'
import { openIdentity } from '../../src/core/identity/identity.ts'
import { openLog } from '../../src/core/log.ts'
import { startLoops } from '../../src/core/loop.ts'
import { openMetrics } from '../../src/core/metrics.ts'
import { Capabilities } from '../../src/core/capabilities.ts'
import { openCanaryAdmin } from '../../src/doors/pool/canaries/canary-list.ts'
import { openCoordinator, type Coordinator } from '../../src/doors/pool/pool.ts'
import { POOL_SETTINGS } from '../../src/doors/pool/settings.ts'
import { readSettings } from '../../src/core/settings.ts'
import { newKey, sha256, signedBytes } from '../contract/pool/setup.ts'
import { atEnd } from '../support/cleanup.ts'
import { testDatabase } from '../support/database.ts'
import { temporaryFolder } from '../support/servers.ts'

const MIGRATIONS = { owner: 'pool', folder: new URL('../../src/doors/pool/migrations/', import.meta.url) }

export interface SimulatedWorker {
  workerId: number
  ownerId: number
  privateKey: KeyObject
}

export async function setupCoordinator(
  t: TestContext,
  options: { random: () => number; env?: Record<string, string> },
) {
  const { database } = await testDatabase(t, [MIGRATIONS])
  const env = options.env ?? {}
  const { core: config } = parseConfig({ LOG_LEVEL: 'silent' }, {})
  const log = openLog(config)
  const metrics = openMetrics()
  const engine = await openEngine({ config, database, metrics, log })
  atEnd(t, () => engine.close())
  const identity = openIdentity({ database, config })
  const files = openFolderStore(await temporaryFolder(t))
  const deps = {
    ...engine,
    config,
    database,
    files,
    identity,
    metrics,
    log,
    clock: systemClock,
    offers: new Capabilities(),
  }
  const coordinator = await openCoordinator(deps, readSettings(POOL_SETTINGS, env, []), options)
  const running = startLoops(coordinator.matchmaker.loops, log)
  atEnd(t, () => coordinator.close())
  atEnd(t, () => running.stop())
  return { database, coordinator, engine, canaries: openCanaryAdmin({ ...deps, coordinator }), ...acting(coordinator) }
}

function acting(coordinator: Coordinator) {
  const never = new AbortController().signal
  setMaxListeners(0, never)
  return {
    /** Its owner has no other worker. */
    async worker(n: number): Promise<SimulatedWorker> {
      const { privateKey, publicKey } = newKey()
      const answer = await coordinator.workers.register({
        name: `w${n}`,
        ownerId: n,
        region: null,
        specs: null,
        publicKey,
      })
      if (!answer.ok) throw new Error(answer.code)
      return { workerId: answer.worker.id, ownerId: n, privateKey }
    },
    async poll({ workerId, ownerId }: SimulatedWorker) {
      const answer = await coordinator.poll({ workerId, ownerId, waitMs: 0, signal: never })
      return answer.ok ? answer.assignment : null
    },
    /** `output` is canonical JSON. */
    submit(worker: SimulatedWorker, { assignmentId, nonce }: { assignmentId: number; nonce: string }, output: string) {
      const outputHash = sha256(output)
      const signature = sign(null, Buffer.from(signedBytes(assignmentId, nonce, outputHash)), worker.privateKey)
      return coordinator.submit({
        workerId: worker.workerId,
        ownerId: worker.ownerId,
        assignmentId,
        nonce,
        signature: signature.toString('base64url'),
        output,
        metrics: null,
        errorMessage: null,
        artifactUri: null,
        outputHash,
      })
    },
  }
}
