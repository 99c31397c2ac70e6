// The newest of what an account has at each open door, as its roles allow.
import { plural } from '../../clock/format.ts'
import { shortId } from '../../parts/controls/copy.tsx'
import type { Stated } from '../../parts/data/state-badge.tsx'
import { isolated } from '../../parts/text/isolated.ts'
import { client } from '../../session/client.ts'
import { useSession } from '../../session/session.tsx'
import { reader } from '../arena/reading.ts'
import { verdictOf } from '../arena/verdict.ts'
import { deliveryState, topicWord } from '../challenges/deliveries/words.ts'
import { CHALLENGE_STATES, problemOf } from '../challenges/words.ts'
import { placeOf, taskState } from '../desk/task-words.ts'
import { stateOf } from '../judge/submissions/verdicts.ts'
import { newestJobs } from '../pool/jobs/newest-jobs.ts'
import { JOB_STATUS, workerState } from '../pool/pool-words.ts'
import { withHeartbeats } from './heartbeats.ts'

const SHOWN = 4

export interface GlanceItem {
  key: string
  state: Stated
  text: string
  at: string | null
  to: string
}

export interface Glance {
  title: string
  /** The page with all of them. */
  to: string
  /** Where there is nothing: why, and what to do. */
  none: string
  load: () => Promise<readonly GlanceItem[]>
  /** What tells of changes: a message of it loads them again. */
  follow: (keys: readonly string[]) => Followed
  /** What a message says of them itself. Null: they must be loaded again. */
  update?: (items: readonly GlanceItem[], payload: unknown) => readonly GlanceItem[] | null
}

interface Followed {
  topic: string
  params: object
  /** False: there is nothing to look at. */
  enabled?: boolean
}

/** As the roles of the account and the open doors allow. */
export function useGlances(): readonly Glance[] {
  const { me, has, isDoorOpen } = useSession()
  if (me === null) return []
  const { user_id: userId, username } = me
  const all: readonly (Glance & { isFor: boolean })[] = [
    { ...DESK, isFor: isDoorOpen('desk') && has('OPERATOR'), load: () => ownTasks(username) },
    { ...JUDGE, isFor: isDoorOpen('judge') },
    { ...POOL_JOBS, isFor: isDoorOpen('pool') && has('CLIENT') },
    { ...WORKERS, isFor: isDoorOpen('pool') && has('WORKER_OWNER') },
    { ...CHALLENGES, isFor: isDoorOpen('challenge') && has('CHALLENGER') },
    { ...ARENA, isFor: isDoorOpen('arena'), load: () => ownMatches(userId) },
    { ...DELIVERIES, isFor: has('ADMIN') },
  ]
  return all.filter(({ isFor }) => isFor)
}

const DESK = {
  title: 'Tasks that you hold',
  to: '/console/desk',
  none: 'None. The desk shows what waits.',
  follow: () => ({ topic: 'desk', params: {} }),
}

async function ownTasks(operator: string): Promise<readonly GlanceItem[]> {
  const { tasks } = await client.desk.list({ open: true, assigned_to: operator, limit: SHOWN })
  return tasks.map((task) => ({
    key: task.uuid,
    state: taskState(task, operator),
    text: `${isolated(task.domain)} ${isolated(placeOf(task))}`,
    at: task.created_at,
    to: `/console/desk?task=${task.uuid}`,
  }))
}

const JUDGE = {
  title: 'Submissions',
  to: '/console/judge/submissions',
  none: 'None yet. Choose a problem of the judge.',
  follow: (keys: readonly string[]) => ({ topic: 'submissions', params: { job_ids: keys } }),
  load: async (): Promise<readonly GlanceItem[]> =>
    (await client.judge.submissions({ limit: SHOWN })).submissions.map((line) => ({
      key: line.job_id,
      state: stateOf(line),
      text: line.problem_id,
      at: line.submitted_at,
      to: `/console/judge/submissions/${line.job_id}`,
    })),
}

const POOL_JOBS = {
  title: 'Jobs in the pool',
  to: '/console/pool/jobs',
  none: 'None yet. Workers of the pool do what you submit.',
  follow: (keys: readonly string[]) => ({ topic: 'pool_jobs', params: { job_ids: keys, new: true } }),
  load: async (): Promise<readonly GlanceItem[]> =>
    (await newestJobs((page) => client.pool.list(page), SHOWN)).map((job) => ({
      key: job.job_id,
      state: JOB_STATUS[job.status],
      text: `Job ${shortId(job.job_id)}`,
      at: job.created_at,
      to: `/console/pool/jobs/${job.job_id}`,
    })),
}

const WORKERS = {
  title: 'Workers',
  to: '/console/pool',
  none: 'None yet. Register a machine of yours.',
  follow: (keys: readonly string[]) => ({
    topic: 'pool_workers',
    params: { worker_ids: keys.map(Number) },
    enabled: keys.length > 0,
  }),
  load: async (): Promise<readonly GlanceItem[]> => {
    const workers = await client.pool.workers()
    const shown = workers.toSorted((a, b) => (b.last_seen_at ?? '').localeCompare(a.last_seen_at ?? ''))
    return shown.slice(0, SHOWN).map((worker) => ({
      key: String(worker.id),
      state: workerState(worker),
      text: worker.name,
      at: worker.last_seen_at,
      to: `/console/pool/workers/${worker.id}`,
    }))
  },
  update: withHeartbeats,
}

const CHALLENGES = {
  title: 'Challenges',
  to: '/console/challenges',
  none: 'None yet. Create one and send it to a Solver.',
  follow: (keys: readonly string[]) => ({ topic: 'challenges', params: { challenge_ids: keys } }),
  load: async (): Promise<readonly GlanceItem[]> =>
    (await client.challenges.list({ limit: SHOWN })).challenges.map((challenge) => ({
      key: challenge.challenge_id,
      state: CHALLENGE_STATES[challenge.state],
      text: problemOf(challenge).text,
      at: challenge.created_at,
      to: `/console/challenges/${encodeURIComponent(challenge.challenge_id)}`,
    })),
}

const ARENA = {
  title: 'Matches',
  to: '/console/arena',
  none: 'None yet. A match takes two clicks.',
  follow: () => ({ topic: 'matches', params: {} }),
}

async function ownMatches(userId: number): Promise<readonly GlanceItem[]> {
  const { matches } = await reader.matches({ userId })
  return matches.slice(0, SHOWN).map((match) => ({
    key: match.matchId,
    state: verdictOf(match, userId),
    text: `against ${isolated(match.players.find((player) => player.userId !== userId)?.username ?? 'a player who is gone')}`,
    at: match.finishedAt,
    to: `/console/arena/matches/${match.matchId}`,
  }))
}

const DELIVERIES = {
  title: 'Dead letters',
  to: '/console/challenges/deliveries?status=dead',
  none: 'None: every delivery arrived, or is still tried.',
  follow: (keys: readonly string[]) => ({ topic: 'deliveries', params: { delivery_ids: keys.map(Number) } }),
  load: async (): Promise<readonly GlanceItem[]> =>
    (await client.deliveries.list({ status: 'dead', limit: SHOWN })).map((delivery) => ({
      key: String(delivery.delivery_id),
      state: deliveryState(delivery),
      text: `${topicWord(delivery.topic)} ${isolated(delivery.subject)}, ${plural(delivery.attempts, 'attempt')}`,
      at: delivery.created_at,
      to: `/console/challenges/deliveries/${delivery.delivery_id}`,
    })),
}
