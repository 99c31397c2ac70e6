// Maintains the matches that this node runs: renews each lease three times per lease period, writes a snapshot once a
// second, and retries results that could not be recorded. A pass runs ten times a second and puts everything that is due
// into one statement; sessions are spread over the passes, so that no tick waits for a large one.
import type { Logger } from 'pino'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { Loop } from '../../../core/loop.ts'
import type { SendToNode } from '../cluster/messages.ts'
import type { Session } from '../engine/session.ts'
import type { Sessions } from '../engine/sessions.ts'
import type { MatchStore, MatchSnapshot } from './match-store.ts'
import type { Pool } from '../../../core/db/database.ts'
import { readResult } from './record-result.ts'
import { invitation, type Runner } from './runner.ts'

const PASS_MS = 100
const IDLE_MS = 60_000 // without a session
const SNAPSHOT_MS = 1000
const RETRY_MS = 5000
const SHARES = 10 // passes over which sessions that began together are spread

export interface MatchKeeperDeps {
  ledger: Ledger
  pool: Pool
  store: MatchStore
  sessions: Sessions
  runner: Runner
  send: SendToNode
  log: Logger
  node: string
  leaseMs: number
}

export interface MatchKeeper {
  loop: Loop
  /** Writes a snapshot of every session, before the node stops. */
  saveAll(): Promise<void>
}

/** When each task of a session is due. */
interface DueTimes {
  renewMs: number
  saveMs: number
  retryMs: number
}

export function openMatchKeeper(deps: MatchKeeperDeps): MatchKeeper {
  const renewEveryMs = deps.leaseMs / 3
  const turnsOf = new WeakMap<Session, DueTimes>()
  let count = 0

  const turns = (session: Session, now: number): DueTimes => {
    const known = turnsOf.get(session)
    if (known !== undefined) return known
    count += 1
    const share = (1 + (count % SHARES)) / SHARES
    const fresh = { renewMs: now + renewEveryMs * share, saveMs: now + SNAPSHOT_MS * share, retryMs: now + RETRY_MS }
    turnsOf.set(session, fresh)
    return fresh
  }

  return {
    loop: {
      name: 'renew-and-snapshot-matches',
      get everyMs() {
        return deps.sessions.size === 0 ? IDLE_MS : PASS_MS
      },
      wake: deps.sessions.opened,
      async runOnce() {
        const now = performance.now()
        const toRenew: Session[] = []
        const toSave: Session[] = []
        for (const session of deps.sessions.all()) {
          const due = turns(session, now)
          if (due.renewMs <= now) {
            due.renewMs = now + renewEveryMs
            toRenew.push(session)
          }
          if (due.saveMs <= now) {
            due.saveMs = now + SNAPSHOT_MS
            toSave.push(session)
            if (session.peerNodes.size > 0) repeatInvitations(deps, session)
          }
          if (session.state === 'closing' && due.retryMs <= now) {
            due.retryMs = now + RETRY_MS
            void deps.runner.finish(session)
          }
        }
        await Promise.all([save(deps, toSave), ...toRenew.map((session) => renew(deps, session))])
        return false
      },
    },
    saveAll: () => save(deps, [...deps.sessions.all()]),
  }
}

/** An unreachable database is not a lost lease: no other node can acquire the match meanwhile either. */
async function renew(deps: MatchKeeperDeps, session: Session): Promise<void> {
  const { ledger, runner, leaseMs, log } = deps
  if (session.isOver) return
  const { held } = session
  try {
    const answer = await ledger.renew({ leaseMs, ...held })
    if (answer.ok || session.isOver || session.held !== held) return
    log.warn({ job_id: held.jobId, attempt_id: held.attemptId, reason: answer.code }, 'lease of a match lost')
    if (answer.code === 'already_finished') {
      const ended = await readResult(deps.pool, held.jobId)
      runner.close(session, ended ?? { reason: 'void', result: null })
    } else if (answer.code === 'lease_lost_or_owner_mismatch' || answer.code === 'not_in_expected_state') {
      await runner.reclaim(session)
    } else {
      runner.lose(session)
    }
  } catch (error) {
    log.error({ err: error, job_id: held.jobId }, 'could not renew the lease of a match')
  }
}

async function save({ store, log }: MatchKeeperDeps, sessions: readonly Session[]): Promise<void> {
  const changed = sessions.filter(
    ({ state, saved, game }) =>
      state === 'running' && (saved?.tick !== game.tick || saved.bytes !== game.record.length),
  )
  if (changed.length === 0) return
  const marks = changed.map(({ game }) => ({ tick: game.tick, bytes: game.record.length }))
  try {
    const saved = await store.save(changed.map(snapshotOf))
    changed.forEach((session, index) => (session.saved = saved.has(session.sessionId) ? (marks[index] ?? null) : null))
  } catch (error) {
    for (const session of changed) session.saved = null
    log.error({ err: error }, 'could not save snapshots')
  }
}

const snapshotOf = ({ held, game, saved }: Session): MatchSnapshot => ({
  matchId: held.jobId,
  attemptId: held.attemptId,
  base: saved?.tick ?? null,
  tick: game.tick,
  inputs: game.record.slice(saved?.bytes ?? 0),
})

function repeatInvitations({ send, node }: MatchKeeperDeps, session: Session): void {
  for (const unconfirmed of session.peerNodes.review(performance.now())) {
    send(unconfirmed.node, invitation(node, session, unconfirmed.userIds))
  }
}
