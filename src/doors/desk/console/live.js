// The desk's events as they happen. A WebSocket can set no header: its token goes as a subprotocol. Events are only hints to
// look again, so that what happened while the connection was away needs no replay.

const RETRY_MS = { first: 1000, max: 15_000 }

/** Returns how to stop. `onState` hears whether it is connected. */
export function follow(token, { onEvent, onState }) {
  const url = new URL('/ws/captcha', location.href)
  url.protocol = url.protocol.replace('http', 'ws')
  const stopping = new AbortController()
  const { signal } = stopping
  let waitMs = RETRY_MS.first

  const connect = () => {
    if (signal.aborted) return
    const socket = new WebSocket(url, ['reeve.bearer', token])
    const on = (what, listener) => socket.addEventListener(what, listener, { signal })
    on('open', () => {
      waitMs = RETRY_MS.first
      onState(true)
    })
    on('message', onEvent)
    on('close', () => {
      onState(false)
      setTimeout(connect, waitMs)
      waitMs = Math.min(waitMs * 2, RETRY_MS.max)
    })
    signal.addEventListener('abort', () => socket.close())
  }
  connect()

  return () => stopping.abort()
}
