import { replayBytes, unpackInputs, type MatchPlayer, type MatchWithReplay } from '@reeve/sdk/arena'
import { useEffect, useEffectEvent, useMemo, useRef, useState } from 'react'
import { useKeys } from '../../frame/keys.ts'
import { Page } from '../../frame/page.tsx'
import { Button } from '../../parts/controls/button.tsx'
import { StateBadge } from '../../parts/data/state-badge.tsx'
import { Time } from '../../parts/data/time.tsx'
import { Board, type Positions, type Runner } from './board.tsx'
import { ratingChange } from './reading.ts'
import { isolated } from '../../parts/text/isolated.ts'

/** Where both were at the beginning of every tick, from the first to the end; where the inputs are no longer kept, the end alone. */
function trackOf({ replay, ticks, players: [first, second] }: MatchWithReplay): Positions[] {
  if (!replay.kept) return Array.from({ length: ticks + 1 }, () => [first.position ?? 0, second.position ?? 0])
  const track: Positions[] = [[0, 0]]
  const inputs = unpackInputs(replayBytes(replay.inputs))
  for (let tick = 0; tick < ticks; tick += 1) {
    const [a, b] = track[tick] ?? [0, 0]
    const moved = (side: number) =>
      inputs.reduce((sum, input) => (input.side === side && input.targetTick === tick ? sum + input.delta : sum), 0)
    track.push([a + moved(0), b + moved(1)])
  }
  return track
}

export function MatchReplay({ match, ownId }: { match: MatchWithReplay; ownId: number | null }) {
  const track = useMemo(() => trackOf(match), [match])
  const { read, tick, isPlaying, toggle, seek } = useReplay(track, match)
  const seconds = (ticks: number) => `${((ticks * match.tickIntervalMs) / 1000).toFixed(1)} s`
  useKeys({
    ' ': { about: 'Play or pause', run: toggle },
    ArrowLeft: { about: 'One tick back', run: () => seek(tick - 1) },
    ArrowRight: { about: 'One tick on', run: () => seek(tick + 1) },
  })
  return (
    <Page
      title={match.players.map(({ username }) => isolated(username)).join(' against ')}
      crumbs={[{ label: 'Arena', to: '/console/arena' }]}
      aside={
        <>
          <StateBadge tone={match.reason === 'void' ? 'quiet' : 'good'} word={resultOf(match)} />
          <span className="text-quiet">
            <Time at={match.finishedAt} />
          </span>
        </>
      }
      fills
    >
      <div className="flex min-h-0 flex-1 flex-col gap-4 pb-4">
        <Board runners={[runnerOf(match.players[0], ownId), runnerOf(match.players[1], ownId)]} read={read} />
        {match.replay.kept ? (
          <div className="flex items-center gap-3">
            <Button look="main" icon={isPlaying ? 'pause' : 'run'} className="w-24" onClick={toggle}>
              {isPlaying ? 'Pause' : 'Play'}
            </Button>
            <input
              type="range"
              aria-label="Time in the match"
              aria-valuetext={seconds(tick)}
              className="min-w-0 flex-1 accent-(--accent)"
              min={0}
              max={match.ticks}
              value={tick}
              onChange={({ currentTarget: { value } }) => seek(Number(value))}
            />
            <span className="w-28 text-right text-quiet">
              {seconds(tick)} of {seconds(match.ticks)}
            </span>
          </div>
        ) : (
          <p className="text-quiet">The moves of this match are no longer kept: this is how it ended.</p>
        )}
      </div>
    </Page>
  )
}

/** Begins at once, and stops at the end. */
function useReplay(track: readonly Positions[], { ticks, tickIntervalMs }: MatchWithReplay) {
  const at = useRef(0)
  const [tick, setTick] = useState(0)
  const [isPlaying, setPlaying] = useState(true)
  const advance = useEffectEvent((ms: number) => {
    at.current = Math.min(ticks, at.current + ms / tickIntervalMs)
    setTick(Math.floor(at.current))
    if (at.current >= ticks) setPlaying(false)
  })
  useEffect(() => {
    if (!isPlaying) return undefined
    let last = performance.now()
    let frame = requestAnimationFrame(function next(now) {
      advance(Math.max(0, now - last))
      last = now
      frame = requestAnimationFrame(next)
    })
    return () => cancelAnimationFrame(frame)
  }, [isPlaying])

  const seek = (to: number) => {
    at.current = Math.max(0, Math.min(ticks, to))
    setTick(at.current)
    setPlaying(false)
  }
  const toggle = () => {
    if (!isPlaying && at.current >= ticks) at.current = 0
    setPlaying(!isPlaying)
  }
  const read = (): Positions => {
    const from = track[Math.floor(at.current)] ?? [0, 0]
    const to = track[Math.ceil(at.current)] ?? from
    const share = at.current % 1
    return [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share]
  }
  return { read, tick, isPlaying, toggle, seek }
}

function resultOf({ reason, result, players }: MatchWithReplay): string {
  if (result === null) return 'Void'
  const winner = players.find(({ userId }) => userId === result.winnerUserId)
  if (winner === undefined) return 'Draw'
  return reason === 'resigned'
    ? `${isolated(winner.username)} won, the other gave up`
    : `${isolated(winner.username)} won`
}

const runnerOf = (player: MatchPlayer, ownId: number | null): Runner => ({
  name: player.username,
  note: ratingChange(player.ratingBefore, player.ratingAfter) ?? '',
  isYou: player.userId === ownId,
})
