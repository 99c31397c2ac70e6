import type { ArenaSession, PlayerState } from '@reeve/sdk/arena'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { useKeys } from '../../frame/keys.ts'
import { Button } from '../../parts/controls/button.tsx'
import { Board, Interpolation, type Positions, type Runner } from './board.tsx'
import { isBot, playerQuery } from './reading.ts'

/** What a tap adds, the most that the server takes at once. */
const STEP = 3
/** Time for a tap to arrive. */
const AHEAD_TICKS = 2

/** Of a match that is played or watched. */
export function useRunning(session: ArenaSession): { read: () => Positions; leftMs: number | null } {
  const [motion] = useState(
    () => new Interpolation(session.tickIntervalMs, positionsOf(session, session.state.players)),
  )
  const [tick, setTick] = useState(session.state.tick)
  useEffect(() => {
    const stop = session.onState(({ players, tick }) => {
      motion.push(positionsOf(session, players))
      setTick(tick)
    })
    return () => void stop()
  }, [session, motion])
  const leftMs = session.ticks === null ? null : Math.max(0, session.ticks - tick) * session.tickIntervalMs
  return { read: motion.read, leftMs }
}

/** In the order of the participants. */
function positionsOf({ participants }: ArenaSession, players: readonly PlayerState[]): Positions {
  const of = (index: number) =>
    players.find(({ userId }) => userId === participants[index]?.userId)?.position ?? players[index]?.position ?? 0
  return [of(0), of(1)]
}

export const Clock = ({ leftMs }: { leftMs: number | null }) => (
  <p role="timer" aria-label="Time left" className="text-display font-semibold">
    {leftMs === null ? '–' : clockOf(leftMs)}
  </p>
)

/** 9:57, and from the last minute on 42.1 s. */
function clockOf(ms: number): string {
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  const seconds = Math.ceil(ms / 1000)
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, '0')}`
}

export function useRunner(user: { userId: number; username: string } | undefined, ownId: number | null): Runner {
  const userId = user?.userId ?? 0
  const { data } = useQuery({ ...playerQuery(userId), enabled: !isBot(userId) })
  const isYou = userId === ownId && !isBot(userId)
  const rating = data === undefined || data.rank === null ? '' : String(data.rating)
  return {
    name: user?.username ?? '',
    note: [isYou ? 'you' : '', rating].filter((part) => part !== '').join(', '),
    isYou,
  }
}

export function PlayBoard({ session, userId }: { session: ArenaSession; userId: number }) {
  const { read, leftMs } = useRunning(session)
  const runners = [useRunner(session.participants[0], userId), useRunner(session.participants[1], userId)] as const
  const run = () => void session.move(STEP, { ahead: AHEAD_TICKS })
  const back = () => void session.move(-STEP, { ahead: AHEAD_TICKS })
  useKeys({
    ArrowRight: { about: 'Run', run, isOncePerPress: true },
    ' ': { about: 'Run', run, isOncePerPress: true },
    ArrowLeft: { about: 'Step back', run: back, isOncePerPress: true },
  })
  return (
    <div className="flex min-h-0 flex-1 flex-col gap-4 pb-4">
      <div className="flex items-center justify-between gap-4">
        <Clock leftMs={leftMs} />
        <Button look="bare" onClick={() => session.resign()}>
          Give up
        </Button>
      </div>
      <Board runners={runners} read={read} />
      <div className="flex gap-2">
        <Button aria-label="Step back" className="min-h-14!" onClick={back}>
          ←
        </Button>
        <Button look="main" className="min-h-14! flex-1 touch-manipulation text-lead" onClick={run}>
          Run <span className="max-sm:hidden">(→ or space)</span>
        </Button>
      </div>
    </div>
  )
}
