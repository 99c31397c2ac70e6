// What was started last is stopped first. A stop runs at most once, whether its owner or an interrupt asks for it.

export type Stop = () => Promise<void>

export interface Teardown {
  /** Registers a stop and returns it, made safe to call twice. */
  add(stop: Stop): Stop
  runAll(): Promise<void>
}

export function createTeardown(): Teardown {
  const stops = new Set<Stop>()

  return {
    add(stop) {
      let stopping: Promise<void> | undefined
      const once = (): Promise<void> => {
        stops.delete(once)
        stopping ??= stop()
        return stopping
      }
      stops.add(once)
      return once
    },

    async runAll() {
      for (const stop of [...stops].toReversed()) {
        await stop().catch((error: unknown) => console.error('While stopping:', error))
      }
    },
  }
}
