// A server that measures how long its event loop is held: the most processor time that its main thread used between two turns
// of a timer that is always due. Processor time, not time on the clock: on a busy machine a thread may wait for its turn as
// long as it likes, and that is nobody's work.
import { openSync, readSync } from 'node:fs'
import { parseConfig } from '../../src/core/config.ts'
import { openLog } from '../../src/core/log.ts'
import { doorSettings } from '../../src/doors/outline.ts'
import { start } from '../../src/main.ts'
import { tell } from '../crash/wiring.ts'

// "time on a processor, time waiting for one, …", in nanoseconds, of the thread whose id is the process's: the main one.
const schedstat = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r')
const bytes = Buffer.alloc(256)

const usedMs = (): number =>
  Number(bytes.toString('latin1', 0, readSync(schedstat, bytes, 0, 256, 0)).split(' ')[0]) / 1e6

const settings = parseConfig(JSON.parse(process.argv[2] ?? '').settings, doorSettings())
process.once('disconnect', () => process.exit(1)) // the parent is gone
const running = await start({ settings, role: 'up', log: openLog(settings.core) })

let held = 0
let last = usedMs()
let turns = 0
setInterval(() => {
  const now = usedMs()
  held = Math.max(held, now - last)
  last = now
  turns += 1
}, 1)

/** Each message asks for the most since the last one. */
process.on('message', () => {
  void tell({ what: `held ${asked}`, line: JSON.stringify({ held, turns }) })
  asked += 1
  held = 0
  turns = 0
})
let asked = 0
await tell({ what: 'ready', line: running.url ?? '' })
