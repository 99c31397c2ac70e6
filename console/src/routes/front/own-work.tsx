// What this account has to do with each open door, at a glance: the newest of its own, and the way to the rest.
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useLive } from '../../live/live.ts'
import { useReload } from '../../live/reload.ts'
import { StateBadge } from '../../parts/data/state-badge.tsx'
import { Time } from '../../parts/data/time.tsx'
import { queries } from '../../session/client.ts'
import { messageOf, problemOf, untilAnswered } from '../../session/errors.ts'
import { useGlances, type Glance, type GlanceItem } from './glances.ts'

/** What changes all the time is loaded this often. */
const EVERY_MS = 2000

export function OwnWork() {
  const glances = useGlances()
  if (glances.length === 0) return null
  return (
    <section aria-labelledby="own-work" className="max-sm:mt-8">
      <h2 id="own-work" className="mb-3 text-lead font-semibold">
        Your work
      </h2>
      <div className="grid gap-x-10 gap-y-6 lg:grid-cols-2">
        {glances.map((glance) => (
          <OneGlance key={glance.title} {...glance} />
        ))}
      </div>
    </section>
  )
}

function OneGlance({ title, to, none, load, follow, update }: Glance) {
  const queryKey = ['front', title]
  const items = useQuery({ queryKey, queryFn: load, refetchOnMount: 'always', ...untilAnswered })
  const problem = problemOf(items)
  const reload = useReload({ queryKey, refetch: items.refetch, everyMs: EVERY_MS })
  const { enabled = true, ...followed } = follow((items.data ?? []).map(({ key }) => key))
  useLive({
    ...followed,
    enabled: enabled && items.data !== undefined,
    onMessage({ payload }) {
      const updated = update?.(queries.getQueryData<readonly GlanceItem[]>(queryKey) ?? [], payload) ?? null
      if (updated === null) return reload() // also when it is followed again: what came meanwhile may not be told
      queries.setQueryData(queryKey, updated)
    },
  })
  return (
    <section aria-label={title} className="min-w-0">
      <h3 className="flex items-baseline justify-between gap-3 border-b border-line pb-1 font-medium">
        {title}
        <Link
          {...linkTo(to)}
          className="text-small font-normal text-accent hover:underline"
          aria-label={`All: ${title}`}
        >
          All
        </Link>
      </h3>
      {items.isPending && problem === null && <p className="py-2 text-quiet">Loading…</p>}
      {problem !== null && <p className="py-2 text-bad-fg">Could not be loaded: {messageOf(problem)}</p>}
      {items.data?.length === 0 && <p className="py-2 text-quiet">{none}</p>}
      <ul>
        {items.data?.map(({ key, state, text, at, to: page }) => (
          <li key={key} className="border-b border-line last:border-0">
            <Link {...linkTo(page)} className="flex min-h-9 items-center gap-3 py-1 hover:bg-raised">
              <span className="shrink-0 sm:w-40">
                <StateBadge {...state} />
              </span>
              <span className="min-w-0 flex-1 truncate" dir="auto" title={text}>
                {text}
              </span>
              {at !== null && (
                <span className="shrink-0 text-small text-quiet">
                  <Time at={at} inList />
                </span>
              )}
            </Link>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** An address with its query, as the router takes it. */
function linkTo(address: string): { to: string; search: Record<string, string> } {
  const [to = '', query = ''] = address.split('?')
  return { to, search: Object.fromEntries(new URLSearchParams(query)) }
}
