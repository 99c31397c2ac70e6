// A server that measures how long its event loop is held, in two ways. `held`: the most processor time that its main thread
// used between two turns of a timer that is always due; not elapsed time, since a thread may wait for a processor as long as
// the machine is busy. `bytes`: the most bytes that it hashed, encoded, decoded, parsed and serialised in one turn, which is
// the same on every machine.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { openSync, readSync } from 'node:fs'
import { parseConfig } from '../../src/core/config.ts'
import { openLog } from '../../src/core/log/log.ts'
import { doorSettings } from '../../src/doors/outline.ts'
import { start } from '../../src/main.ts'
import { tell } from '../crash/wiring.ts'

// "time on a processor, time waiting for one, …", in nanoseconds, of the thread whose id is the process's: the main one.
const schedstat = openSync(`/proc/self/task/${process.pid}/schedstat`, 'r')
const bytes = Buffer.alloc(256)

const usedMs = (): number =>
  Number(bytes.toString('latin1', 0, readSync(schedstat, bytes, 0, 256, 0)).split(' ')[0]) / 1e6

let bytesOfTurn = 0
let bytesMost = 0
let isTurnOpen = false
const count = (bytes: number): void => {
  bytesOfTurn += bytes
  bytesMost = Math.max(bytesMost, bytesOfTurn)
  if (isTurnOpen) return
  isTurnOpen = true
  setImmediate(() => {
    isTurnOpen = false
    bytesOfTurn = 0
  })
}
countWork()

/** Copies are not counted: they take a tenth of the time. */
function countWork(): void {
  const counted = (owner: object, name: string, sizeOf: (args: unknown[], result: unknown) => number) => {
    const original: unknown = Reflect.get(owner, name)
    assert(typeof original === 'function')
    Reflect.set(owner, name, function (this: unknown, ...args: unknown[]) {
      const result: unknown = Reflect.apply(original, this, args)
      count(sizeOf(args, result))
      return result
    })
  }
  const sizeOf = (value: unknown) =>
    typeof value === 'string' ? value.length : ArrayBuffer.isView(value) ? value.byteLength : 0
  counted(Object.getPrototypeOf(createHash('sha256')), 'update', ([data]) => sizeOf(data))
  counted(JSON, 'parse', ([text]) => sizeOf(text))
  counted(JSON, 'stringify', (_args, text) => sizeOf(text))
  counted(TextDecoder.prototype, 'decode', ([bytes]) => sizeOf(bytes))
  counted(Buffer, 'from', ([text], bytes) => (typeof text === 'string' ? sizeOf(bytes) : 0))
}

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
  void tell({ what: `held ${asked}`, line: JSON.stringify({ held, turns, bytes: bytesMost }) })
  asked += 1
  held = 0
  turns = 0
  bytesMost = 0
})
let asked = 0
await tell({ what: 'ready', line: running.url ?? '' })
