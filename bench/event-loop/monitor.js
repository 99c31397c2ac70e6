// Loaded into the server by --import. Tells its parent on demand how long its event loop was blocked at most since it was last asked: the
// processor time of the main thread between two turns of a timer that is always due. Elapsed time would include waiting for a processor.
import { openSync, readSync } from 'node:fs'
import { isMainThread } from 'node:worker_threads'

if (isMainThread && process.send !== undefined) watch()

function watch() {
  // "time on a processor, time waiting for one, …", in nanoseconds, of the thread whose id is the process's: the main one.
  const schedstat = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r')
  const bytes = Buffer.alloc(256)
  const usedMs = () => Number(bytes.toString('latin1', 0, readSync(schedstat, bytes, 0, 256, 0)).split(' ')[0]) / 1e6
  let longest = 0
  let last = usedMs()
  setInterval(() => {
    const now = usedMs()
    longest = Math.max(longest, now - last)
    last = now
  }, 1).unref()
  process.on('message', (asked) => {
    if (asked !== 'longest block') return
    process.send?.({ blockedMs: longest })
    longest = 0
  })
  process.channel?.unref()
}
