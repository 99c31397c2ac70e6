import type { SessionEnded } from '@reeve/sdk/arena'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useEffect } from 'react'
import { verdictOf } from './verdict.ts'
import { Button, buttonClass } from '../../parts/controls/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { StateBadge } from '../../parts/data/state-badge.tsx'
import { queries } from '../../session/client.ts'
import type { Phase, PlayerConnection } from './player-connection.ts'
import { matchQuery, ratingChange } from './reading.ts'
import { isolated } from '../../parts/text/isolated.ts'

interface ResultProps {
  player: PlayerConnection
  phase: Extract<Phase, { is: 'ended' }>
  userId: number
}

export function MatchResult({ player, phase, userId }: ResultProps) {
  const { session, ended, rematch } = phase
  const { data: match } = useQuery(matchQuery(session.sessionId))
  const own = match?.players.find((one) => one.userId === userId)
  const other = match?.players.find((one) => one.userId !== userId)
  const opponent = session.participants.find((one) => one.userId !== userId)
  const change = own === undefined ? null : ratingChange(own.ratingBefore, own.ratingAfter)
  useEffect(() => {
    void queries.invalidateQueries({ queryKey: ['arena', 'player'] }) // ratings have changed
  }, [session.sessionId])

  return (
    <div className="flex max-w-xl flex-col items-start gap-5">
      <div role="status" className="flex flex-col items-start gap-2">
        <StateBadge {...verdictOf(ended, userId)} />
        <p className="text-display font-semibold">{headlineOf(ended, userId, isolated(opponent?.username ?? ''))}</p>
        {own !== undefined && other !== undefined && (
          <p className="text-lead text-quiet">
            {own.position ?? '–'} to {other.position ?? '–'}
          </p>
        )}
        <p className="text-lead">{change === null ? 'No rating changed.' : `Your rating: ${change}`}</p>
        {rematch === 'wanted' && (
          <StateBadge tone="active" word={`${isolated(opponent?.username ?? 'They')} wants a rematch`} />
        )}
        {rematch === 'asked' && <StateBadge tone="quiet" word="Waiting for the answer to your rematch" />}
      </div>
      <div className="flex flex-wrap gap-2">
        <Button
          look="main"
          icon="replay"
          autoFocus
          disabled={rematch === 'asked'}
          onClick={() => void player.rematch()}
        >
          Rematch
        </Button>
        <Button onClick={() => void player.leave()}>Play somebody else</Button>
        <Link to="/console/arena/matches/$id" params={{ id: session.sessionId }} className={buttonClass('plain')}>
          <Icon name="eye" />
          Watch again
        </Link>
      </div>
    </div>
  )
}

function headlineOf(ended: SessionEnded, userId: number, opponent: string): string {
  if (ended.result === null) return 'The match is void.'
  const { winnerUserId } = ended.result
  if (winnerUserId === null) return `You and ${opponent} came level.`
  const gaveUp = ended.reason === 'resigned'
  if (winnerUserId === userId) return gaveUp ? `${opponent} gave up. You win.` : `You beat ${opponent}.`
  return gaveUp ? `You gave up. ${opponent} wins.` : `${opponent} was faster.`
}
