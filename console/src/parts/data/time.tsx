import { useNow } from '../../clock/clock.ts'
import { age, clockTime, duration, exact, relative } from '../../clock/format.ts'

interface TimeProps {
  /** ISO 8601. Null: it has not happened. */
  at: string | null
  /** `clock`: 10:00:00.123 in place of "3 min ago". */
  show?: 'relative' | 'clock'
  /** In lists: no tab stop of its own. */
  inList?: boolean
}

/** A moment, relative to now; the exact one on hover and focus. */
export function Time({ at, show = 'relative', inList = false }: TimeProps) {
  if (at === null) return <span className="text-quiet">–</span>
  const ms = Date.parse(at)
  return (
    <time
      dateTime={at}
      title={exact(ms)}
      data-exact={exact(ms)}
      className="group/time relative whitespace-nowrap"
      {...(inList ? {} : { tabIndex: 0 })}
    >
      {show === 'clock' ? clockTime(ms) : <Ticking at={ms} />}
      {!inList && (
        <span className="pointer-events-none absolute top-full left-0 z-20 mt-1 hidden rounded-md border border-line bg-raised px-2 py-1 text-small text-text shadow-sm group-focus-visible/time:block">
          {exact(ms)}
        </span>
      )}
    </time>
  )
}

const Ticking = ({ at }: { at: number }) => relative(at, useNow())

/** A length of time. Without `to` it is still running. */
export function Duration({ from, to }: { from: string; to?: string | null }) {
  return typeof to === 'string' ? (
    <>{duration(Date.parse(to) - Date.parse(from))}</>
  ) : (
    <Running from={Date.parse(from)} />
  )
}

const Running = ({ from }: { from: number }) => age(useNow() - from)

/** The time that is left until then; `over` once it has passed. */
export function Countdown({ until, over }: { until: string; over: string }) {
  const left = Date.parse(until) - useNow()
  return left <= 0 ? over : age(left < 60_000 ? Math.ceil(left / 1000) * 1000 : left)
}
