// The other side of output-hash.ts: one text, one answer.
import { parentPort, workerData } from 'node:worker_threads'
import { NotCanonical } from '@reeve/sdk'
import { outputHash } from '@reeve/sdk/pool'

export type Hashed = { ok: true; hash: string } | { ok: false; message: string }

export function hashOf(text: string): Hashed {
  try {
    return { ok: true, hash: outputHash(text) }
  } catch (error) {
    if (error instanceof NotCanonical) return { ok: false, message: error.message }
    throw error
  }
}

if (typeof workerData === 'string') parentPort?.postMessage(hashOf(workerData), [])
