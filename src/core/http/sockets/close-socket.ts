import type { WebSocket } from 'ws'

/** Time for what is queued before the close frame: a client that stalled and reads again learns why it was closed. */
const CLOSE_WITHIN_MS = 10_000

/** Sends a close frame, and terminates the connection if it does not close in time. */
export function closeSocket(socket: WebSocket, { code, reason }: { code: number; reason: string }): void {
  if (socket.readyState !== socket.OPEN) return
  socket.close(code, reason)
  const cutOff = setTimeout(() => socket.terminate(), CLOSE_WITHIN_MS)
  socket.once('close', () => clearTimeout(cutOff))
}
