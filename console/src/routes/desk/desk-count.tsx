// In the side bar: how many tasks wait.
import { useQuery } from '@tanstack/react-query'
import { number } from '../../clock/format.ts'
import { useLive } from '../../live/live.ts'
import { useReload } from '../../live/reload.ts'
import { client } from '../../session/client.ts'

/** The figures at the head of the desk's pages. They are asked for again once something has happened, at most so often. */
const EVERY_MS = 2000

export const figuresKey = ['desk', 'figures'] as const

export function useFigures() {
  const figures = useQuery({ queryKey: figuresKey, queryFn: () => client.desk.figures() })
  const refresh = useReload({ queryKey: figuresKey, refetch: figures.refetch, everyMs: EVERY_MS })
  useLive({ topic: 'desk', onMessage: ({ type }) => type !== 'following' && refresh() })
  return figures
}

export function DeskCount() {
  const { data } = useFigures()
  if (data === undefined || data.waiting === 0) return null
  return (
    <span className="rounded-full bg-accent-soft px-1.5 text-small text-accent" title={`${data.waiting} waiting`}>
      {number(data.waiting)}
    </span>
  )
}
