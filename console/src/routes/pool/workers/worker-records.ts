import type { LivePoolWorker } from '@reeve/sdk'

/** In a message of the topic `pool_workers`. */
export const recordsIn = (payload: unknown): LivePoolWorker[] =>
  typeof payload === 'object' && payload !== null && 'workers' in payload && Array.isArray(payload.workers)
    ? payload.workers
    : []
