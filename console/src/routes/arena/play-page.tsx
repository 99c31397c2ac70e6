// Playing: find an opponent, play, see the result. Where the player is comes from the server, so that a reload changes nothing.
import { useState } from 'react'
import { useNow } from '../../clock/clock.ts'
import { Page } from '../../frame/page.tsx'
import { Button } from '../../parts/controls/button.tsx'
import { ErrorBox } from '../../parts/feedback/error-box.tsx'
import { inputClass } from '../../parts/controls/form.tsx'
import { Skeleton } from '../../parts/feedback/skeleton.tsx'
import { StateBadge } from '../../parts/data/state-badge.tsx'
import { Countdown } from '../../parts/data/time.tsx'
import { useSession } from '../../session/session.tsx'
import { MatchResult } from './match-result.tsx'
import { PlayBoard } from './play-board.tsx'
import { usePlayer, type Phase, type PlayerConnection } from './player-connection.ts'

const OFFER_BOT_AFTER_MS = 5000
const CODE_CHARS = { min: 4, max: 32 }

const CRUMBS = [{ label: 'Arena', to: '/console/arena' }]

export function PlayPage() {
  const { me } = useSession()
  return me === null ? null : <Play key={me.user_id} userId={me.user_id} />
}

function Play({ userId }: { userId: number }) {
  const { player, view } = usePlayer(userId)
  const { phase, isConnected, isOpponentAway, error } = view
  const isLost = !isConnected && phase.is !== 'connecting'
  const aside = (
    <span role="status" className="flex gap-2">
      {isLost && <StateBadge tone="warn" word="Reconnecting…" />}
      {isOpponentAway && <StateBadge tone="warn" word="Your opponent lost the connection" />}
    </span>
  )
  return (
    <Page title={titleOf(phase)} aside={aside} crumbs={CRUMBS} fills={phase.is === 'playing'}>
      {error !== null && <ErrorBox title="That did not work" error={error} />}
      {phase.is === 'connecting' && error === null && <Skeleton />}
      {phase.is === 'idle' && <Choose player={player} />}
      {phase.is === 'waiting' && <Waiting player={player} phase={phase} />}
      {phase.is === 'playing' && <PlayBoard key={phase.session.sessionId} session={phase.session} userId={userId} />}
      {phase.is === 'ended' && <MatchResult player={player} phase={phase} userId={userId} />}
    </Page>
  )
}

function titleOf({ is }: Phase): string {
  if (is === 'waiting') return 'Looking for an opponent'
  if (is === 'playing') return 'Your match'
  return is === 'ended' ? 'Result' : 'Play'
}

function Choose({ player }: { player: PlayerConnection }) {
  const [code, setCode] = useState('')
  const isCode = code.length >= CODE_CHARS.min
  return (
    <div className="grid max-w-3xl gap-6 sm:grid-cols-2">
      <Choice title="Anybody" about="The next player who comes. Both ratings change.">
        <Button look="main" icon="run" autoFocus onClick={() => void player.play('normal')}>
          Find an opponent
        </Button>
      </Choice>
      <Choice
        title="Your strength"
        about="Somebody with a rating near yours; the longer you wait, the wider the search."
      >
        <Button onClick={() => void player.play('rated')}>Find an equal</Button>
      </Choice>
      <Choice title="The bot" about="It is always there, and no rating changes.">
        <Button onClick={() => void player.play('bot')}>Play the bot</Button>
      </Choice>
      <Choice title="A friend" about="Both give the same word, and no rating changes.">
        <form
          className="flex w-full gap-2"
          onSubmit={(event) => {
            event.preventDefault()
            if (isCode) void player.play('private', code)
          }}
        >
          <input
            aria-label="The word that you both give"
            placeholder="A word of 4 letters or more"
            className={inputClass}
            maxLength={CODE_CHARS.max}
            value={code}
            onChange={({ currentTarget: { value } }) => setCode(value)}
          />
          <Button type="submit" disabled={!isCode}>
            Meet
          </Button>
        </form>
      </Choice>
    </div>
  )
}

function Choice({ title, about, children }: { title: string; about: string; children: React.ReactNode }) {
  return (
    <section className="flex flex-col items-start gap-2">
      <h2 className="text-lead font-semibold">{title}</h2>
      <p className="flex-1 text-quiet">{about}</p>
      {children}
    </section>
  )
}

function Waiting({ player, phase }: { player: PlayerConnection; phase: Extract<Phase, { is: 'waiting' }> }) {
  const offersBot = useNow() - phase.since >= OFFER_BOT_AFTER_MS && phase.mode !== 'bot'
  return (
    <div className="flex flex-col items-start gap-4">
      <p className="text-lead" role="timer">
        <span className="text-quiet">The search ends in </span>
        <span className="font-semibold">
          <Countdown until={phase.expiresAt} over="a moment" />
        </span>
      </p>
      <div className="flex flex-wrap gap-2">
        <Button icon="cross" onClick={() => void player.cancel()}>
          Stop looking
        </Button>
        {offersBot && (
          <Button look="main" icon="run" onClick={() => void player.play('bot')}>
            Play the bot instead
          </Button>
        )}
      </div>
    </div>
  )
}
