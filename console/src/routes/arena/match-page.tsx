// One match: watched while it runs, replayed once it is over.
import type { ArenaSession } from '@reeve/sdk/arena'
import { ReeveError } from '@reeve/sdk'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { Page } from '../../frame/page.tsx'
import { ErrorBox } from '../../parts/feedback/error-box.tsx'
import { Skeleton } from '../../parts/feedback/skeleton.tsx'
import { StateBadge } from '../../parts/data/state-badge.tsx'
import { queries } from '../../session/client.ts'
import { useSession } from '../../session/session.tsx'
import { Board } from './board.tsx'
import { Clock, useRunner, useRunning } from './play-board.tsx'
import { usePlayer } from './player-connection.ts'
import { matchQuery } from './reading.ts'
import { MatchReplay } from './match-replay.tsx'
import { matchRoute } from './routes.ts'

const CRUMBS = [{ label: 'Arena', to: '/console/arena' }]

export function MatchPage() {
  const { id } = matchRoute.useParams()
  const { me } = useSession()
  const match = useQuery(matchQuery(id))
  const isRunning = match.error instanceof ReeveError && match.error.status === 404
  if (match.data !== undefined) return <MatchReplay key={id} match={match.data} ownId={me?.user_id ?? null} />
  if (isRunning && me !== null) return <Watch key={id} matchId={id} userId={me.user_id} />
  return (
    <Page title="Match" crumbs={CRUMBS}>
      {match.isError ? (
        <ErrorBox title="The match could not be loaded" error={match.error} onRetry={() => void match.refetch()} />
      ) : (
        <Skeleton />
      )}
    </Page>
  )
}

function Watch({ matchId, userId }: { matchId: string; userId: number }) {
  const { player, view } = usePlayer(userId)
  const [session, setSession] = useState<ArenaSession | null>(null)
  const [error, setError] = useState<unknown>(null)
  useEffect(() => {
    let isGone = false
    const watch = async () => {
      try {
        const watched = await player.client.watch(matchId)
        if (isGone) return
        setSession(watched)
        await watched.ended
        await queries.invalidateQueries({ queryKey: matchQuery(matchId).queryKey }) // there is a replay now
      } catch (refusal) {
        if (!isGone) setError(refusal)
      }
    }
    void watch()
    return () => {
      isGone = true
      void player.client.unwatch(matchId).catch(() => {})
    }
  }, [player, matchId])
  return (
    <Page
      title="Live match"
      crumbs={CRUMBS}
      aside={
        <StateBadge tone={view.isConnected ? 'active' : 'warn'} word={view.isConnected ? 'Running' : 'Reconnecting…'} />
      }
      fills
    >
      {error !== null && <ErrorBox title="There is no such match" error={error} />}
      {session === null ? error === null && <Skeleton /> : <Watched session={session} />}
    </Page>
  )
}

function Watched({ session }: { session: ArenaSession }) {
  const { read, leftMs } = useRunning(session)
  const runners = [useRunner(session.participants[0], null), useRunner(session.participants[1], null)] as const
  return (
    <div className="flex min-h-0 flex-1 flex-col gap-4 pb-4">
      <Clock leftMs={leftMs} />
      <Board runners={runners} read={read} />
    </div>
  )
}
