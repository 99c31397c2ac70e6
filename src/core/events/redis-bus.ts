import { Redis } from 'ioredis'
import { newJobId } from '../random.ts'
import { LocalSubscriptions, type Bus } from './bus.ts'

/** Redis pub/sub: one connection listens, another speaks. Both reconnect by themselves. */
export async function openRedisBus(url: string, log: (error: unknown) => void): Promise<Bus> {
  const local = new LocalSubscriptions()
  const origin = newJobId()
  const speaker = new Redis(url, { enableOfflineQueue: false, maxRetriesPerRequest: 0, lazyConnect: true })
  // It subscribes again below: by itself it would do so with a promise that nobody holds, and a rejection ends the process.
  const listener = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: null, autoResubscribe: false })
  let wasReady = false
  let closing = false
  const logUnlessClosing = (error: unknown) => {
    if (!closing) log(error)
  }

  /** The server listens once it has answered: what was said before that is a gap. */
  const listen = (channels: string[]) => {
    if (channels.length === 0) return
    listener.subscribe(...channels).then(() => local.gap(channels), logUnlessClosing)
  }

  // Until the first connection stands, an error is the caller's to tell; afterwards it is an outage to log.
  let firstError: unknown = null
  const onError = (error: unknown) => {
    if (wasReady) log(error)
    else firstError ??= error
  }
  speaker.on('error', onError)
  listener.on('error', onError)
  listener.on('ready', () => {
    if (wasReady) listen(local.channels()) // what was said meanwhile is gone
    wasReady = true
  })
  listener.on('message', (channel, payload) => {
    const cut = payload.indexOf('\n')
    if (payload.slice(0, cut) !== origin) local.deliver(channel, payload.slice(cut + 1))
  })
  try {
    await Promise.all([speaker.connect(), listener.connect()])
  } catch (error) {
    speaker.disconnect()
    listener.disconnect()
    throw firstError ?? error
  }

  return {
    publish(channel, message) {
      local.deliver(channel, message)
      speaker.publish(channel, `${origin}\n${message}`).catch(() => {}) // lost: the connection's own error was logged
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
      speaker.disconnect()
      listener.disconnect()
    },
  }
}
