import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { number } from '../../clock/format.ts'
import { Page } from '../../frame/page.tsx'
import { useLive } from '../../live/live.ts'
import { Button, buttonClass } from '../../parts/controls/button.tsx'
import { Empty } from '../../parts/feedback/empty.tsx'
import { ErrorBox } from '../../parts/feedback/error-box.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Skeleton } from '../../parts/feedback/skeleton.tsx'
import { client, queries } from '../../session/client.ts'
import { problemOf, untilAnswered } from '../../session/errors.ts'
import { startOver, useSession } from '../../session/session.tsx'
import { leaderboardQuery, liveQuery, playerQuery, runningIn } from './reading.ts'
import { isolated } from '../../parts/text/isolated.ts'

const BEST = 5

export function LobbyPage() {
  const { me } = useSession()
  return (
    <Page title="Arena" aside={me === null ? undefined : <OwnRating userId={me.user_id} />}>
      <section className="flex flex-col items-start gap-3 border-b border-line pb-8">
        <p className="max-w-[60ch] text-lead text-quiet">
          Two players, a few seconds. Every tap moves you ahead; whoever is further when the time is up wins.
        </p>
        {me === null ? <PlayAsGuest /> : <PlayLink />}
      </section>
      <div className="mt-6 grid gap-8 lg:grid-cols-2">
        <section aria-labelledby="best" className="min-w-0">
          <h2 id="best" className="mb-2 text-lead font-semibold">
            Best players
          </h2>
          <BestPlayers />
        </section>
        <section aria-labelledby="running" className="min-w-0">
          <h2 id="running" className="mb-2 text-lead font-semibold">
            Running matches
          </h2>
          {me === null ? <p className="text-quiet">Play or sign in to watch a match.</p> : <RunningMatches />}
        </section>
      </div>
    </Page>
  )
}

const PLAY = 'min-h-12! px-8! text-lead'

const PlayLink = () => (
  <Link to="/console/arena/play" className={buttonClass('main', PLAY)}>
    <Icon name="run" />
    Play
  </Link>
)

/** A stranger plays at once: the server makes a guest, who has no password and no rating. */
function PlayAsGuest() {
  const navigate = useNavigate()
  const [error, setError] = useState<unknown>(null)
  const [isBusy, setBusy] = useState(false)
  const play = async () => {
    setBusy(true)
    try {
      await client.account.signInAsGuest()
      await startOver()
      await navigate({ to: '/console/arena/play' })
    } catch (refusal) {
      setError(refusal)
      setBusy(false)
    }
  }
  return (
    <>
      <Button look="main" icon="run" isBusy={isBusy} className={PLAY} onClick={() => void play()}>
        Play as a guest
      </Button>
      <p className="text-quiet">No account needed. Sign in to keep a rating.</p>
      {error !== null && <ErrorBox title="You could not be let in" error={error} />}
    </>
  )
}

function OwnRating({ userId }: { userId: number }) {
  const { data } = useQuery(playerQuery(userId))
  if (data === undefined) return null
  return (
    <Link to="/console/arena/players/$id" params={{ id: String(userId) }} className="text-quiet underline">
      {data.rank === null ? 'Your matches' : `Rating ${data.rating}, rank ${number(data.rank)}`}
    </Link>
  )
}

function BestPlayers() {
  const board = useQuery(leaderboardQuery(1, BEST))
  if (board.isPending) return <Skeleton lines={BEST} />
  if (board.isError)
    return (
      <ErrorBox title="The leaderboard could not be loaded" error={board.error} onRetry={() => void board.refetch()} />
    )
  if (board.data.total === 0) return <Empty title="Nobody has played yet">The first rated match opens the list.</Empty>
  return (
    <>
      <ol className="divide-y divide-line">
        {board.data.entries.map(({ rank, userId, username, rating }) => (
          <li key={userId} className="flex items-center gap-3 py-2">
            <span className="w-8 text-right text-quiet">{rank}</span>
            <Link
              to="/console/arena/players/$id"
              params={{ id: String(userId) }}
              className="min-w-0 truncate hover:underline"
              dir="auto"
            >
              {username}
            </Link>
            <span className="ml-auto font-medium">{rating}</span>
          </li>
        ))}
      </ol>
      <Link to="/console/arena/leaderboard" className="mt-2 inline-block text-accent underline">
        {board.data.total === 1 ? 'The whole list' : `All ${number(board.data.total)} players`}
      </Link>
    </>
  )
}

function RunningMatches() {
  const live = useQuery({ ...liveQuery, ...untilAnswered })
  const problem = problemOf(live)
  useLive({
    topic: 'matches',
    params: { running: true },
    enabled: live.isSuccess && !live.isFetching,
    onMessage: ({ type, payload }) =>
      type === 'running' && queries.setQueryData(liveQuery.queryKey, runningIn(payload)),
  })
  if (problem !== null)
    return <ErrorBox title="The matches could not be loaded" error={problem} onRetry={() => void live.refetch()} />
  if (live.data === undefined) return <Skeleton />
  return (
    <>
      {live.data.matches.length === 0 && <Empty title="Nobody plays at the moment" />}
      <ul className="divide-y divide-line">
        {live.data.matches.map(({ matchId, participants }) => (
          <li key={matchId} className="flex items-center gap-3 py-2">
            <span className="min-w-0 truncate" dir="auto">
              {participants.map(({ username }) => isolated(username)).join(' against ')}
            </span>
            <Link
              to="/console/arena/matches/$id"
              params={{ id: matchId }}
              className={buttonClass('plain', 'ml-auto')}
              aria-label={`Watch ${participants.map(({ username }) => isolated(username)).join(' against ')}`}
            >
              <Icon name="eye" />
              Watch
            </Link>
          </li>
        ))}
      </ul>
    </>
  )
}
