// Players of Reeve: a WebSocket for the match, an HTTP request to join the queue.

import { createHash } from 'node:crypto'
import type { Crowd } from '../load-process.ts'
import { post, type Address } from './post.ts'

/** The token of a seeded player: nobody had to log in for it. */
export const tokenOf = (player: number): string => createHash('sha256').update(`bench token ${player}`).digest('hex')

export function reeveSessions(crowd: Crowd, address: Address): () => Promise<void> {
  let players = 0
  const addPlayer = async () => {
    players += 1
    const token = tokenOf(players)
    await crowd.open('/ws', token)
    await post(address, '/api/queue/join', '{"mode":"normal","timeoutSeconds":60}', {
      authorization: `Bearer ${token}`,
    })
  }
  return async () => void (await Promise.all([addPlayer(), addPlayer()]))
}
