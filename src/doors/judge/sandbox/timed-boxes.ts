// Tells how long each box was open, from the command that opens it until its last run has ended. Of the slots' time that is the part that
// users' programs and compilers have; the rest is waiting for the database, for messages and for the box to be taken apart.
import type { BoxRunner } from './box.ts'

export const timedBoxes = (runner: BoxRunner, onClosed: (seconds: number) => void): BoxRunner => ({
  async open(options) {
    const started = performance.now()
    const box = await runner.open(options)
    let isOpen = true
    return {
      run: (request) => box.run(request),
      runSeries: (request, onReport) => box.runSeries(request, onReport),
      async close() {
        await box.close()
        if (isOpen) onClosed((performance.now() - started) / 1000)
        isOpen = false
      },
    }
  },
  close: () => runner.close(),
})
