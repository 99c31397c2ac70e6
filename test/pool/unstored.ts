// Workers and tasks that are in no database.
import type { WaitingTask } from '../../src/doors/pool/matching/candidates.ts'
import type { Worker } from '../../src/doors/pool/workers/presence.ts'

export const worker = (workerId: number, more: Partial<Worker> = {}): Worker => ({
  workerId,
  ownerId: workerId,
  region: null,
  specs: null,
  isBanned: false,
  isPaused: false,
  leaseSec: null,
  passed: 0,
  wrong: 0,
  agreed: 0,
  disagreed: 0,
  proven: 0,
  seenAt: '',
  leaseUntil: '',
  held: null,
  ...more,
})

export const task = (classId: number, jobId: string, more: Partial<WaitingTask> = {}): WaitingTask => ({
  classId,
  jobId,
  priority: 5,
  acceptedAt: 0,
  now: new Date(0),
  timeoutSec: 60,
  failedBy: [],
  replica: null,
  ...more,
})
