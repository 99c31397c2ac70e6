// Lines about single jobs, of which an outage can cause thousands a second. Of each message only the first lines of a window
// are written; the first line of a later window says how many were left out (`omitted`).
import type { Logger } from 'pino'

const WINDOW_MS = 10_000
const LINES_MAX = 20

export interface SampledLog {
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}

interface Sample {
  windowEnd: number
  lines: number
  omitted: number
}

export function sampledLog(log: Logger, now: () => number = () => performance.now()): SampledLog {
  const samples = new Map<string, Sample>()

  const write = (level: 'warn' | 'error', fields: object, message: string) => {
    const sample = samples.get(message) ?? { windowEnd: 0, lines: 0, omitted: 0 }
    samples.set(message, sample) // messages are constants, so the map is as large as the program
    if (now() >= sample.windowEnd) Object.assign(sample, { windowEnd: now() + WINDOW_MS, lines: 0 })
    sample.lines += 1
    if (sample.lines > LINES_MAX) {
      sample.omitted += 1
      return
    }
    log[level](sample.omitted === 0 ? fields : { ...fields, omitted: sample.omitted }, message)
    sample.omitted = 0
  }

  return {
    warn: (fields, message) => write('warn', fields, message),
    error: (fields, message) => write('error', fields, message),
  }
}
