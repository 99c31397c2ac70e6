// The words and colours of the pool's states.
import type { PoolJobStatus, PoolReputation } from '@reeve/sdk'
import type { Stated } from '../../parts/data/state-badge.tsx'

export const JOB_STATUS: Readonly<Record<PoolJobStatus, Stated>> = {
  pending: { tone: 'quiet', word: 'Waiting' },
  running: { tone: 'active', word: 'Running' },
  completed: { tone: 'good', word: 'Done' },
  failed: { tone: 'bad', word: 'Failed' },
  cancelled: { tone: 'quiet', word: 'Cancelled' },
  timed_out: { tone: 'bad', word: 'Timed out' },
}

export const STANDING: Readonly<Record<PoolReputation['standing'], Stated>> = {
  trusted: { tone: 'good', word: 'Trusted' },
  probation: { tone: 'quiet', word: 'On probation' },
  banned: { tone: 'bad', word: 'Banned' },
}

export function workerState({ status, paused }: { status: string; paused?: boolean }): Stated {
  if (status === 'removed') return { tone: 'quiet', word: 'Removed' }
  if (status === 'banned') return { tone: 'bad', word: 'Banned' }
  if (paused === true) return { tone: 'warn', word: 'Paused' }
  return status === 'online' ? { tone: 'good', word: 'Online' } : { tone: 'quiet', word: 'Offline' }
}

export const hasEnded = (status: PoolJobStatus): boolean => status !== 'pending' && status !== 'running'
