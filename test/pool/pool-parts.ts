// The pool's parts on a real database, without HTTP: tests call what the routes call.
import { sign, type KeyObject } from 'node:crypto'
import { setMaxListeners } from 'node:events'
import type { TestContext } from 'node:test'
import { parseConfig } from '../../src/core/config.ts'
import { startLoops } from '../../src/core/loop.ts'
import { openPoolParts } from '../../src/doors/pool/pool.ts'
import { POOL_SETTINGS } from '../../src/doors/pool/settings.ts'
import { readSettings } from '../../src/core/settings.ts'
import { newKey, sha256, signedBytes } from '../contract/pool/setup.ts'
import { atEnd } from '../support/cleanup.ts'
import { testDatabase } from '../support/database.ts'
import { testEngine } from '../support/engine.ts'

const MIGRATIONS = { owner: 'pool', folder: new URL('../../src/doors/pool/migrations/', import.meta.url) }

/** A plain job of a client. */
export const REQUEST = {
  clientId: 1,
  job: '{}',
  priority: 5,
  requirements: { region: null, specs: null },
  replicas: 1,
  quorum: 1,
  callbackUrl: null,
  requiresHash: false,
  timeoutSec: null,
  maxAttempts: 1,
  agree: null,
  idempotency: null,
  trace: null,
}

export interface SimulatedWorker {
  workerId: number
  ownerId: number
  privateKey: KeyObject
}

export async function setupPool(t: TestContext, options: { random: () => number; env?: Record<string, string> }) {
  const { database } = await testDatabase(t, [MIGRATIONS])
  const env = options.env ?? {}
  const { core: config } = parseConfig({ LOG_LEVEL: 'silent' }, {})
  const { engine, metrics, log } = await testEngine(t, { config, database })
  const pool = await openPoolParts({ ...engine, database, metrics, log }, readSettings(POOL_SETTINGS, env, []), options)
  const running = startLoops(pool.loops.serving, log)
  atEnd(t, () => pool.close())
  atEnd(t, () => running.stop())
  return { database, pool, engine, canaries: pool.canaryList, ...acting(pool) }
}

function acting(pool: Awaited<ReturnType<typeof openPoolParts>>) {
  const never = new AbortController().signal
  setMaxListeners(0, never)
  return {
    /** Its owner has no other worker. */
    async worker(n: number): Promise<SimulatedWorker> {
      const { privateKey, publicKey } = newKey()
      const answer = await pool.workers.register({
        name: `w${n}`,
        ownerId: n,
        region: null,
        specs: null,
        publicKey,
        leaseSec: null,
      })
      if (!answer.ok) throw new Error(answer.code)
      return { workerId: answer.worker.id, ownerId: n, privateKey }
    },
    async poll({ workerId, ownerId }: SimulatedWorker) {
      const answer = await pool.poll({ workerId, ownerId, waitMs: 0, signal: never })
      return answer.ok ? answer.assignment : null
    },
    /** `output` is canonical JSON. */
    submit(worker: SimulatedWorker, { assignmentId, nonce }: { assignmentId: number; nonce: string }, output: string) {
      const outputHash = sha256(output)
      const signature = sign(null, Buffer.from(signedBytes(assignmentId, nonce, outputHash)), worker.privateKey)
      return pool.submitResult({
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
