// The job kind `solve`: the work behind POST /solve. The Challenger is told how the job ended, with an answer, as unsolvable
// or dead: the callback is queued in the transaction that ends the job.
import { releaseRequests } from './retention.ts'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Deliveries } from '../../../core/deliveries/deliveries.ts'
import { JobFailed, type Kind } from '../../../core/executor/kind.ts'
import type { Effect } from '../../../core/ledger/effects.ts'
import { CALLBACK_TOPIC } from '../deliveries/topics.ts'
import type { CallbackOutcome } from '../problems/solution.ts'
import { solveProblem, type SolveContext } from '../problems/solve-problem.ts'
import { SOLVE_KIND, solverJobId, type SolvePayload } from './accept.ts'

const FINISH = `
  update solve_requests
     set status = r.status, answer = r.answer, error_code = r.error_code, finished_at = clock_timestamp()
    from json_to_recordset($1) as r (job_id uuid, status text, answer text, error_code text)
   where solve_requests.job_id = r.job_id`

const REPLACE_JOB = `
  update solve_requests
     set job_id = r.new_job_id, status = 'pending', answer = null, error_code = null, finished_at = null,
         waits_for = null
    from json_to_recordset($1) as r (job_id uuid, new_job_id uuid)
   where solve_requests.job_id = r.job_id`

const WAITS = `select job_id, waits_for from solve_requests where job_id = any($1::uuid[]) and waits_for is not null`

const StoredPayload = Compile(
  Type.Object({
    challenge_id: Type.String(),
    problem: Type.Unknown(),
    output_spec: Type.Unknown(),
    constraints: Type.Object({ timeout_ms: Type.Optional(Type.Number()), deadline_ts: Type.Optional(Type.Number()) }),
    callback_url: Type.String(),
  }),
)

const ERROR_CHARS_MAX = 500

export interface SolveKindContext extends Omit<SolveContext, 'signal'> {
  deliveries: Pick<Deliveries, 'add'>
}

export function solveKind(context: SolveKindContext): Kind {
  const { deliveries } = context
  return {
    name: SOLVE_KIND,
    releaseOld: releaseRequests,
    prepare: async () => context.threads.warm(),
    async run(job, { signal }) {
      const payload = payloadOf(job.payload)
      if (payload === null) throw new JobFailed('The payload is not that of POST /solve.', { final: true })
      const solution = await solveProblem(job, payload, { signal, ...context })
      if ('waitsFor' in solution) return solution
      return { result: solution, effects: effectsOf(deliveries, job.jobId, payload, solution) }
    },
    effectsOfDeath: (job, reason) => {
      const payload = payloadOf(job.payload)
      if (payload === null) return []
      const message = `The solver gave up: ${reason}`.slice(0, ERROR_CHARS_MAX)
      const failure = { status: 'failed', error_code: 'SOLVER_FAILED', error_message: message } as const
      return effectsOf(deliveries, job.jobId, payload, failure)
    },
    async contextOf(jobs) {
      const jobIds = jobs.map(({ jobId }) => jobId)
      const rows = await context.database.query<{ job_id: string; waits_for: string }>(WAITS, [jobIds])
      return new Map(rows.map((row) => [row.job_id, { waitsFor: [row.waits_for] }]))
    },
    effectsOfReplay: (old, newJobId) => [{ sql: REPLACE_JOB, row: { job_id: old.jobId, new_job_id: newJobId } }],
  }
}

function effectsOf(
  deliveries: Pick<Deliveries, 'add'>,
  jobId: string,
  payload: SolvePayload,
  solution: CallbackOutcome,
): Effect[] {
  const { challenge_id: challengeId, callback_url: url } = payload
  const body = JSON.stringify({
    api_version: 'v2.1',
    challenge_id: challengeId,
    solver_job_id: solverJobId(challengeId),
    ...solution,
  })
  const callback = { subject: challengeId, accountId: null, url, requestId: jobId, body, isTrusted: false }
  return [{ sql: FINISH, row: { job_id: jobId, ...solution } }, deliveries.add(CALLBACK_TOPIC, callback, jobId)]
}

/** Null: an admin submitted this job with some other payload. */
const payloadOf = (payload: unknown): SolvePayload | null => (StoredPayload.Check(payload) ? payload : null)
