// Redis pub/sub: one connection listens, another publishes. Both reconnect by themselves, also when a command gets no answer;
// the listening one is sent a ping every few seconds for that.
import { Redis } from 'ioredis'
import { Waiter } from '../concurrency/waiter.ts'
import { runLoop, type Loop } from '../loop.ts'
import { newJobId } from '../random.ts'
import { LocalSubscriptions, type Bus } from './bus.ts'

const CONNECT_TIMEOUT_MS = 3000
const SOCKET_TIMEOUT_MS = 5000 // without data while an answer is due
const HEARTBEAT_EVERY_MS = 2000

export async function openRedisBus(url: string, log: (error: unknown) => void): Promise<Bus> {
  const local = new LocalSubscriptions()
  const origin = newJobId()
  const common = { lazyConnect: true, connectTimeout: CONNECT_TIMEOUT_MS, socketTimeout: SOCKET_TIMEOUT_MS }
  const speaker = new Redis(url, { ...common, enableOfflineQueue: false, maxRetriesPerRequest: 0 })
  // It subscribes again below. The client's own resubscription leaves a rejection unhandled, which would end the process.
  const listener = new Redis(url, { ...common, maxRetriesPerRequest: null, autoResubscribe: false })
  let wasReady = false
  let closing = false
  const logUnlessClosing = (error: unknown) => {
    if (!closing) log(error)
  }

  /** Messages from before the server's answer are a gap. */
  const listen = (channels: string[]) => {
    if (channels.length === 0) return
    listener.subscribe(...channels).then(() => local.gap(channels), logUnlessClosing)
  }

  // Before the first connection is ready, an error is reported to the caller; afterwards it is logged.
  let firstError: unknown = null
  const onError = (error: unknown) => {
    if (wasReady) log(error)
    else firstError ??= error
  }
  speaker.on('error', onError)
  listener.on('error', onError)
  listener.on('ready', () => {
    if (wasReady) listen(local.channels()) // messages in between are lost
    wasReady = true
  })
  listener.on('message', (channel, payload) => {
    if (!payload.startsWith(origin)) local.deliver(channel, payload.slice(payload.indexOf('\n') + 1))
  })
  try {
    await Promise.all([speaker.connect(), listener.connect()])
  } catch (error) {
    speaker.disconnect()
    listener.disconnect()
    throw firstError ?? error
  }

  const pinging = new AbortController()
  const beating = runLoop(heartbeatOf(listener), pinging.signal, logUnlessClosing)

  return {
    publish(channel, message) {
      local.deliver(channel, message)
      speaker.publish(channel, `${origin}\n${message}`).catch(() => {}) // the connection's error was logged
    },
    subscribe(channel, onMessage, onGap = () => {}) {
      const subscription = { listener: onMessage, onGap }
      if (local.add(channel, subscription)) listen([channel])
      return () => {
        if (local.remove(channel, subscription)) listener.unsubscribe(channel).catch(logUnlessClosing)
      }
    },
    async close() {
      closing = true
      pinging.abort()
      speaker.disconnect()
      listener.disconnect()
      await beating
    },
  }
}

/**
 * A ping without an answer makes the client connect again. The end of the loop does not wait for it: a client that is closed
 * between two connections never settles the commands that it would have sent again.
 */
const heartbeatOf = (listener: Redis): Loop => ({
  name: 'listener-heartbeat',
  everyMs: HEARTBEAT_EVERY_MS,
  async runOnce(signal) {
    if (listener.status !== 'ready') return false
    const waiter = new Waiter<void>({ timeoutMs: Infinity, signal, onTimeout: () => {} })
    const settle = () => waiter.resolve()
    listener.ping().then(settle, settle) // the broken connection is logged by itself
    await waiter.answer
    return false
  },
})
