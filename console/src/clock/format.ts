// Times, durations and numbers as people read them.

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const grouped = new Intl.NumberFormat('en')

export const number = (value: number): string => grouped.format(value)

export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${number(count)} ${count === 1 ? one : many}`

/** 820 ms, 4.2 s, 3 min, 2 h 5 min, 3 d 4 h. */
export function duration(ms: number): string {
  if (ms < 0) return duration(0)
  if (ms < SECOND) return `${Math.round(ms)} ms`
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(1)} s`
  if (ms < MINUTE) return `${Math.round(ms / SECOND)} s`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`
  if (ms < DAY) return two(Math.floor(ms / HOUR), 'h', Math.floor((ms % HOUR) / MINUTE), 'min')
  return two(Math.floor(ms / DAY), 'd', Math.floor((ms % DAY) / HOUR), 'h')
}

const two = (first: number, unit: string, second: number, smaller: string): string =>
  second === 0 ? `${first} ${unit}` : `${first} ${unit} ${second} ${smaller}`

/** What runs on: 12 s, 3 min, 2 h 5 min. It changes once a second at most. */
export const age = (ms: number): string => (ms < MINUTE ? `${Math.max(0, Math.floor(ms / SECOND))} s` : duration(ms))

/** now, 12 s ago, in 3 min; older than a month: the day. */
export function relative(at: number, now: number): string {
  const passed = now - at
  const size = Math.abs(passed)
  if (size < 2 * SECOND) return 'now'
  if (size > 30 * DAY) return new Date(at).toISOString().slice(0, 10)
  const text = age(size)
  return passed > 0 ? `${text} ago` : `in ${text}`
}

/** 2026-01-31 10:00:00.123, in the time of the person who looks. */
export function exact(at: number): string {
  const date = new Date(at)
  const pad = (value: number, digits = 2) => String(value).padStart(digits, '0')
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`
  return `${day} ${clockTime(at)}`
}

/** 10:00:00.123 */
export function clockTime(at: number): string {
  const date = new Date(at)
  const pad = (value: number, digits = 2) => String(value).padStart(digits, '0')
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}.${pad(date.getMilliseconds(), 3)}`
}

export function bytes(count: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  const power = Math.min(units.length - 1, count < 1 ? 0 : Math.floor(Math.log10(count) / 3))
  const value = count / 1000 ** power
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`
}
