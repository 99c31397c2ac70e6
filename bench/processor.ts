// Processor time of whole process trees, from /proc: what a job costs does not depend on who else uses the machine, but for caches.
import { readdirSync, readFileSync } from 'node:fs'

const TICKS_PER_SEC = 100 // what Linux tells programs, whatever it uses itself
const FIELDS_BEFORE = 3 // pid, name and state come before the fields below
const FIELD = { ppid: 4, utime: 14, stime: 15, cutime: 16, cstime: 17 } as const

interface Process {
  pid: number
  ppid: number
  /** Its own and that of children which have ended. */
  micros: number
}

/** Of these processes and all below them, since they began. */
export function processorMicros(roots: readonly number[]): number {
  const all = processes()
  const sumOf = (one: Process): number =>
    all.filter(({ ppid }) => ppid === one.pid).reduce((sum, child) => sum + sumOf(child), one.micros)
  return all.filter(({ pid }) => roots.includes(pid)).reduce((sum, one) => sum + sumOf(one), 0)
}

function processes(): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return [processFrom(Number(name), readFileSync(`/proc/${name}/stat`, 'latin1'))]
      } catch {
        return [] // it has ended
      }
    })
}

/** The name is in parentheses and may hold anything. */
function processFrom(pid: number, stat: string): Process {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const field = (n: number): number => Number(fields[n - FIELDS_BEFORE])
  const ticks = field(FIELD.utime) + field(FIELD.stime) + field(FIELD.cutime) + field(FIELD.cstime)
  return { pid, ppid: field(FIELD.ppid), micros: (ticks / TICKS_PER_SEC) * 1e6 }
}
