import type { LeaderboardEntry } from '@reeve/sdk/arena'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { number, plural } from '../../clock/format.ts'
import { Page } from '../../frame/page.tsx'
import { Button } from '../../parts/controls/button.tsx'
import { Empty } from '../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../parts/feedback/error-box.tsx'
import { Table, type Column } from '../../parts/data/table.tsx'
import { useSession } from '../../session/session.tsx'
import { LEADERBOARD_SIZE, leaderboardQuery, playerQuery } from './reading.ts'
import { leaderboardRoute } from './routes.ts'

const COLUMNS: readonly Column<LeaderboardEntry>[] = [
  { head: 'Rank', width: '72px', align: 'right', cell: ({ rank }) => number(rank) },
  { head: 'Player', width: 'minmax(0, 1fr)', cell: ({ username }) => <span dir="auto">{username}</span> },
  { head: 'Rating', width: '80px', align: 'right', cell: ({ rating }) => rating },
  { head: 'Won', width: '80px', align: 'right', wideOnly: true, cell: ({ wins }) => wins },
  { head: 'Lost', width: '80px', align: 'right', wideOnly: true, cell: ({ losses }) => losses },
  { head: 'Matches', width: '96px', align: 'right', wideOnly: true, cell: ({ matches }) => matches },
]

export function LeaderboardPage() {
  const { page = 1 } = leaderboardRoute.useSearch()
  const { me } = useSession()
  const navigate = useNavigate()
  const board = useQuery(leaderboardQuery(page))
  const own = useQuery({ ...playerQuery(me?.user_id ?? 0), enabled: me !== null })
  const pages = Math.max(1, Math.ceil((board.data?.total ?? 0) / LEADERBOARD_SIZE))
  const go = (next: number) =>
    void navigate({ to: '/console/arena/leaderboard', search: next > 1 ? { page: next } : {} })
  const rank = own.data?.rank ?? null

  return (
    <Page
      title="Leaderboard"
      crumbs={[{ label: 'Arena', to: '/console/arena' }]}
      fills
      aside={<span className="text-quiet">{board.data !== undefined && plural(board.data.total, 'player')}</span>}
      actions={
        <>
          {rank !== null && (
            <Button onClick={() => go(Math.ceil(rank / LEADERBOARD_SIZE))}>Your rank: {number(rank)}</Button>
          )}
          <Button disabled={page <= 1} onClick={() => go(page - 1)}>
            Before
          </Button>
          <span className="text-quiet">
            {page} of {pages}
          </span>
          <Button disabled={page >= pages} onClick={() => go(page + 1)}>
            Next
          </Button>
        </>
      }
    >
      {board.isError && (
        <ErrorBox
          title="The leaderboard could not be loaded"
          error={board.error}
          onRetry={() => void board.refetch()}
        />
      )}
      <Table
        label="Players by rating"
        rows={board.data?.entries ?? []}
        columns={COLUMNS}
        rowKey={({ userId }) => String(userId)}
        isLoading={board.isPending}
        empty={<Empty title="Nobody is listed here">Whoever has finished a rated match is listed.</Empty>}
        onOpen={({ userId }) => void navigate({ to: '/console/arena/players/$id', params: { id: String(userId) } })}
        className="flex-1"
      />
    </Page>
  )
}
