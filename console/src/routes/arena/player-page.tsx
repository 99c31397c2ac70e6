import type { Match } from '@reeve/sdk/arena'
import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { number } from '../../clock/format.ts'
import { Page } from '../../frame/page.tsx'
import { Chart } from '../../parts/data/chart.tsx'
import { Empty } from '../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../parts/feedback/error-box.tsx'
import { Skeleton } from '../../parts/feedback/skeleton.tsx'
import { StateBadge } from '../../parts/data/state-badge.tsx'
import { Table, type Column } from '../../parts/data/table.tsx'
import { Time } from '../../parts/data/time.tsx'
import { verdictOf } from './verdict.ts'
import { playerQuery, ratingChange, reader } from './reading.ts'
import { playerRoute } from './routes.ts'

const PLOTTED_MAX = 200
const FIRST_PAGE: string | null = null

export function PlayerPage() {
  const { id } = playerRoute.useParams()
  const userId = Number(id)
  const player = useQuery(playerQuery(userId))
  const crumbs = [{ label: 'Arena', to: '/console/arena' }]
  if (player.isError) {
    return (
      <Page title="Player" crumbs={crumbs}>
        <ErrorBox title="There is no such player" error={player.error} onRetry={() => void player.refetch()} />
      </Page>
    )
  }
  const { data } = player
  return (
    <Page
      title={data?.username ?? 'Player'}
      crumbs={crumbs}
      fills
      aside={data !== undefined && data.rank !== null && <span className="text-lead">{data.rating}</span>}
    >
      {data === undefined ? (
        <Skeleton />
      ) : (
        <p className="pb-4 text-quiet">
          {data.rank === null ? 'No rated match yet' : `Rank ${number(data.rank)}`} · {data.wins} won · {data.losses}{' '}
          lost · {data.matches} rated matches
        </p>
      )}
      <RatingPlot userId={userId} />
      <Matches userId={userId} />
    </Page>
  )
}

function RatingPlot({ userId }: { userId: number }) {
  const { data } = useQuery({
    queryKey: ['arena', 'player', userId, 'ratings'],
    queryFn: () => reader.ratings({ userId, size: PLOTTED_MAX }),
    staleTime: 0,
  })
  const changes = data?.ratings.toReversed() ?? []
  if (changes.length < 2) return null
  return (
    <Chart
      title="Rating"
      times={changes.map(({ at }) => Date.parse(at) / 1000)}
      lines={[{ label: 'after each match', colour: '--accent', values: changes.map(({ ratingAfter }) => ratingAfter) }]}
      format={(value) => String(Math.round(value))}
      base="least"
    />
  )
}

function Matches({ userId }: { userId: number }) {
  const navigate = useNavigate()
  const matches = useInfiniteQuery({
    queryKey: ['arena', 'player', userId, 'matches'],
    queryFn: ({ pageParam }) => reader.matches({ userId, ...(pageParam === null ? {} : { before: pageParam }) }),
    initialPageParam: FIRST_PAGE,
    getNextPageParam: ({ nextBefore }) => nextBefore,
    staleTime: 0,
  })
  const rows = matches.data?.pages.flatMap((page) => page.matches) ?? []
  if (matches.isError)
    return (
      <ErrorBox title="The matches could not be loaded" error={matches.error} onRetry={() => void matches.refetch()} />
    )
  return (
    <Table
      label="Matches"
      rows={rows}
      columns={columnsOf(userId)}
      rowKey={({ matchId }) => matchId}
      isLoading={matches.isPending}
      hasMore={matches.hasNextPage}
      onEnd={() => void (matches.isFetching ? undefined : matches.fetchNextPage())}
      empty={<Empty title="No match yet" />}
      onOpen={({ matchId }) => void navigate({ to: '/console/arena/matches/$id', params: { id: matchId } })}
      className="flex-1"
    />
  )
}

const columnsOf = (userId: number): readonly Column<Match>[] => [
  { head: 'Result', width: '96px', cell: (match) => <StateBadge {...verdictOf(match, userId)} /> },
  {
    head: 'Opponent',
    width: 'minmax(0, 1fr)',
    cell: ({ players }) => <span dir="auto">{players.find((one) => one.userId !== userId)?.username}</span>,
  },
  {
    head: 'Rating',
    width: '180px',
    wideOnly: true,
    cell: ({ players }) => {
      const own = players.find((one) => one.userId === userId)
      return (own === undefined ? null : ratingChange(own.ratingBefore, own.ratingAfter)) ?? '–'
    },
  },
  { head: 'Ended', width: '120px', align: 'right', cell: ({ finishedAt }) => <Time at={finishedAt} inList /> },
]
