// How a match ended that its player could not follow: the server is asked until it knows.
import { setTimeout as sleep } from 'node:timers/promises'
import { ReeveError } from '@reeve/sdk'
import type { ArenaClient, ArenaSession, SessionEnded } from '@reeve/sdk/arena'

const LOOK_AGAIN_MS = 500
/** Longer than the match lasts: a server that was stopped has to start, and takes over what it finds. */
const LOOK_ON_MS = 600_000

/** Null: nobody knows, and it should be over by now. */
export async function endOf(
  arena: Pick<ArenaClient, 'match'>,
  { sessionId, ticks, tickIntervalMs }: Pick<ArenaSession, 'sessionId' | 'ticks' | 'tickIntervalMs'>,
  pause: (ms: number) => Promise<unknown> = sleep,
): Promise<SessionEnded | null> {
  const looksMax = Math.ceil(((ticks ?? 0) * tickIntervalMs + LOOK_ON_MS) / LOOK_AGAIN_MS)
  for (let looks = 0; looks < looksMax; looks += 1) {
    const match = await arena.match(sessionId).catch((error: unknown) => {
      if (isPassing(error)) return null
      throw error
    })
    if (match !== null) return { sessionId, reason: match.reason, result: match.result }
    await pause(LOOK_AGAIN_MS)
  }
  return null
}

/** The match goes on, or the server cannot be reached, or cannot answer. */
const isPassing = (error: unknown): boolean =>
  error instanceof ReeveError ? error.status === 404 || error.status >= 500 : error instanceof TypeError
