// What happened, in order, on one axis of time: each line with its moment, its length as a bar, and what came of it.
import type { ReactNode } from 'react'
import { duration } from '../../clock/format.ts'
import { TONE_CLASS, type Tone } from './state-badge.tsx'
import { Time } from './time.tsx'

export interface TimelineEntry {
  key: string
  at: string
  /** Where it has a length. Null: it still runs. */
  until?: string | null
  title: ReactNode
  tone: Tone
  /** Its outcome, in a word. */
  word?: string
  detail?: ReactNode
}

interface TimelineProps {
  label: string
  entries: readonly TimelineEntry[]
  now: number
}

export function Timeline({ label, entries, now }: TimelineProps) {
  const starts = entries.map(({ at }) => Date.parse(at))
  const ends = entries.map(({ at, until }) => (until === null ? now : Date.parse(until ?? at)))
  const from = Math.min(...starts)
  const span = Math.max(1, Math.max(...ends) - from)

  return (
    <ol aria-label={label} className="border-l border-line">
      {entries.map((entry, index) => (
        <li
          key={entry.key}
          className="relative grid grid-cols-1 gap-x-4 py-1.5 pl-5 sm:grid-cols-[104px_minmax(0,1fr)]"
        >
          <span
            className={`absolute top-3 -left-[5px] size-[9px] rounded-full ${TONE_CLASS[entry.tone]} ring-1 ring-current`}
          />
          <span className="font-mono text-[13px] text-quiet">
            <Time at={entry.at} show="clock" />
          </span>
          <div className="min-w-0">
            <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
              <span className="font-medium">{entry.title}</span>
              {entry.word !== undefined && (
                <span className={`rounded-full px-2 py-0.5 text-small ${TONE_CLASS[entry.tone]}`}>{entry.word}</span>
              )}
              {entry.until !== undefined && (
                <span className="text-quiet">{duration((ends[index] ?? 0) - (starts[index] ?? 0))}</span>
              )}
            </div>
            {entry.until !== undefined && (
              <div className="mt-1 h-1.5 rounded-full bg-raised" aria-hidden="true">
                <div
                  className={`h-full min-w-1 rounded-full ${TONE_CLASS[entry.tone]} bg-current!`}
                  style={{
                    marginLeft: `min(${(((starts[index] ?? 0) - from) / span) * 100}%, 100% - 4px)`,
                    width: `${(((ends[index] ?? 0) - (starts[index] ?? 0)) / span) * 100}%`,
                  }}
                />
              </div>
            )}
            {entry.detail !== undefined && <div className="text-quiet">{entry.detail}</div>}
          </div>
        </li>
      ))}
    </ol>
  )
}
