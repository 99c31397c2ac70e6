// A job's history as the lines of a timeline: each attempt is one line, from its start to its end.
import type { JobDetail, JobHistoryEntry } from '@reeve/sdk'
import type { TimelineEntry } from '../../parts/data/timeline.tsx'
import type { Tone } from '../../parts/data/state-badge.tsx'

const OUTCOMES: Readonly<Record<string, readonly [word: string, tone: Tone]>> = {
  failed: ['Failed', 'bad'],
  released: ['Given back', 'quiet'],
  lease_expired: ['Lost its lease', 'warn'],
  done: ['Done', 'good'],
  dead: ['Dead', 'bad'],
}

export function entriesOf({ history }: Pick<JobDetail, 'history'>): TimelineEntry[] {
  return history.flatMap((entry, index): TimelineEntry[] => {
    if (entry.what === 'submitted') {
      const detail = entry.detail === null ? {} : { detail: `A replay of ${entry.detail}` }
      return [{ key: 'submitted', at: entry.at, title: 'Submitted', tone: 'quiet', ...detail }]
    }
    if (entry.what === 'acquired') return [attemptOf(entry, history[index + 1])]
    const isEndOfAttempt = history[index - 1]?.what === 'acquired'
    if (entry.what !== 'dead' && isEndOfAttempt) return []
    const [word, tone] = OUTCOMES[entry.what] ?? [entry.what, 'quiet']
    return [
      { key: `${index}`, at: entry.at, title: word, tone, ...(entry.detail === null ? {} : { detail: entry.detail }) },
    ]
  })
}

function attemptOf(
  { at, attempt_id: attempt, owner }: JobHistoryEntry,
  end: JobHistoryEntry | undefined,
): TimelineEntry {
  const title = (
    <>
      Attempt {attempt}{' '}
      {owner !== null && (
        <span className="font-normal text-quiet">
          by <bdi>{owner}</bdi>
        </span>
      )}
    </>
  )
  if (end === undefined) return { key: `attempt ${attempt}`, at, until: null, title, tone: 'active', word: 'Running' }
  const [word, tone] =
    end.what === 'dead' ? ['Ended', 'bad' as const] : (OUTCOMES[end.what] ?? [end.what, 'quiet' as const])
  const detail = end.detail === null || end.what === 'dead' ? {} : { detail: end.detail }
  return { key: `attempt ${attempt}`, at, until: end.at, title, tone, word, ...detail }
}
