import type { Delivery } from '@reeve/sdk'
import type { Stated } from '../../../parts/data/state-badge.tsx'

export const STATUSES = ['dead', 'pending', 'delivered'] as const satisfies readonly Delivery['status'][]

export const DELIVERY_STATES: Readonly<Record<Delivery['status'], Stated>> = {
  dead: { tone: 'bad', word: 'Dead' },
  pending: { tone: 'quiet', word: 'Waiting' },
  delivered: { tone: 'good', word: 'Delivered' },
}

export const deliveryState = ({ status, attempts }: Pick<Delivery, 'status' | 'attempts'>): Stated =>
  status === 'pending' && attempts > 0 ? { tone: 'warn', word: 'Retrying' } : DELIVERY_STATES[status]

const TOPICS: Readonly<Record<string, string>> = {
  challenge_callback: 'Result for a Challenger',
  challenge_send: 'Challenge for a Solver',
  pool_callback: 'Result of a pool job',
  'desk.callback': 'Solution of a task',
}

/** What is sent, in words. */
export const topicWord = (topic: string): string => TOPICS[topic] ?? topic.replaceAll(/[_.]/g, ' ')
