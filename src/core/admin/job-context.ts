// GET /admin/jobs/{id}/context and the topic `job_context`: what belongs to a job beside its row. It changes without the job's own state: a
// test ends, a receipt is written, a job that it waits for ends.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type, type Static } from 'typebox'
import { contextsOf } from '../executor/job-context.ts'
import type { WatchedJob } from '../executor/kind.ts'
import { refusals } from '../http/errors/detail.ts'
import { SECURED } from '../http/routes/docs.ts'
import { JOB_ID } from '../ledger/job.ts'
import { lookLoop, openSights } from '../live/sights.ts'
import { liveTopic, type LiveTopic } from '../live/topic.ts'
import type { Loop } from '../loop.ts'
import { groupBy } from '../values/group-by.ts'
import { refused } from '../values/outcome.ts'
import type { AdminDeps } from './admin-routes.ts'
import { JobPath, jobIdOf, JobState, unknownJob } from './job-schema.ts'

const RelatedJob = Type.Object({ job_id: Type.String({ format: 'uuid' }), kind: Type.String(), state: JobState })
const Context = Type.Object({
  progress: Type.Union(
    [
      Type.Object({
        done: Type.Integer(),
        total: Type.Union([Type.Integer(), Type.Null()], { description: 'Null: not known yet.' }),
        unit: Type.String({ description: 'What is counted: tests, results, ticks.' }),
      }),
      Type.Null(),
    ],
    { description: 'While it has not ended, of kinds that are done in steps.' },
  ),
  waits_for: Type.Array(RelatedJob, { description: 'Jobs that must end first.' }),
  dependents: Type.Array(RelatedJob, { description: 'Jobs that wait for its end.' }),
  replayed_as: Type.Union([RelatedJob, Type.Null()]),
  receipts: Type.Array(Type.Unknown(), { description: 'Of its results, signed: those of a pool job.' }),
  deliveries: Type.Array(
    Type.Object({
      delivery_id: Type.Integer(),
      topic: Type.String(),
      status: Type.String({ description: 'pending, delivered or dead.' }),
      attempts: Type.Integer(),
    }),
    { description: 'Signed requests that it caused.' },
  ),
})

type JobContextView = Static<typeof Context>
type ContextDeps = Pick<AdminDeps, 'ledger' | 'kinds' | 'deliveries'>

export const jobContextRoute =
  (deps: ContextDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    const schema = {
      tags: ['admin'],
      security: SECURED,
      summary: 'What belongs to a job: progress, jobs that it waits for, dependents, receipts, deliveries.',
      params: JobPath,
      response: { 200: Context, ...refusals(401, 403, 404) },
    }
    app.get('/admin/jobs/:id/context', { schema }, async (request) => {
      const job = await deps.ledger.get(jobIdOf(request.params.id))
      const context = job === null ? undefined : (await readContexts(deps, [job])).get(job.jobId)
      if (context === undefined) throw unknownJob()
      return context
    })
  }

const Params = Type.Object({ job_id: Type.String({ pattern: JOB_ID.source }) }, { additionalProperties: false })

export function openLiveContexts(deps: ContextDeps): { topic: LiveTopic; loop: Loop } {
  // Kind and payload never change: they are read once.
  const watched = new Map<string, { job: WatchedJob; pages: number }>()
  const sights = openSights(async (jobIds) => {
    const jobs = (await deps.ledger.summaries(jobIds)).flatMap(({ jobId, state }) => {
      const known = watched.get(jobId)
      return known === undefined ? [] : [{ ...known.job, state }]
    })
    return readContexts(deps, jobs)
  })
  return {
    topic: liveTopic({
      name: 'job_context',
      roles: ['ADMIN'],
      params: Params,
      async open({ params, send }) {
        const job = await deps.ledger.get(params.job_id)
        if (job === null) return refused('not_found')
        const { jobId, kind, state, payload } = job
        const known = watched.get(jobId) ?? { job: { jobId, kind, state, payload }, pages: 0 }
        watched.set(jobId, { ...known, pages: known.pages + 1 })
        const sight = sights.open([jobId], ([context]) => send('changed', context))
        return {
          ok: true,
          close() {
            sight.close()
            const { pages = 0 } = watched.get(jobId) ?? {}
            if (pages > 1) watched.set(jobId, { ...known, pages: pages - 1 })
            else watched.delete(jobId)
          },
        }
      },
    }),
    loop: lookLoop('job-contexts', sights),
  }
}

async function readContexts(
  { ledger, kinds, deliveries }: ContextDeps,
  jobs: readonly WatchedJob[],
): Promise<Map<string, JobContextView>> {
  const jobIds = jobs.map(({ jobId }) => jobId)
  const [contexts, replays, sent] = await Promise.all([
    contextsOf(kinds, jobs),
    ledger.replaysOf(jobIds),
    deliveries.ofJobs(jobIds),
  ])
  const sentBy = groupBy(sent, ({ jobId }) => jobId)
  const named = [...contexts.values()].flatMap(({ waitsFor, dependents }) => [...waitsFor, ...dependents])
  const related = new Map(
    (await ledger.summaries([...new Set([...named, ...replays.values()])])).map(({ jobId, kind, state }) => [
      jobId,
      { job_id: jobId, kind, state },
    ]),
  )
  const found = (ids: readonly string[]) => ids.flatMap((id) => related.get(id) ?? [])
  const views = [...contexts].map(([jobId, { progress, waitsFor, dependents, receipts }]) => {
    const [replay = null] = found([replays.get(jobId) ?? ''])
    const view: JobContextView = {
      progress,
      waits_for: found(waitsFor),
      dependents: found(dependents),
      replayed_as: replay,
      receipts: [...receipts],
      deliveries: (sentBy.get(jobId) ?? []).map(({ outboxId, topic, status, attempts }) => ({
        delivery_id: outboxId,
        topic,
        status,
        attempts,
      })),
    }
    return [jobId, view] as const
  })
  return new Map(views)
}
