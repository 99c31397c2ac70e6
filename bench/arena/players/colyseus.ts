// Players of Colyseus: a seat by HTTP, then the WebSocket that it names.

import type { Crowd } from '../load-process.ts'
import { post, type Address } from './post.ts'

interface Seat {
  processId: string
  roomId: string
  sessionId: string
}

export function colyseusSessions(crowd: Crowd, address: Address): () => Promise<void> {
  const sit = async (method: string, name: string): Promise<Seat> => {
    const seat: Seat = JSON.parse(await post(address, `/matchmake/${method}/${name}`, '{}'))
    await crowd.open(`/${seat.processId}/${seat.roomId}?sessionId=${seat.sessionId}`, '-')
    return seat
  }
  return async () => {
    const { roomId } = await sit('create', 'arena')
    await sit('joinById', roomId)
  }
}
