// GET /problems and GET /problems/{problem_id}: what contestants may see. Secret data never leaves the package.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Deps } from '../../../core/door.ts'
import { SECURED } from '../../../core/http/routes/docs.ts'
import { requireAccount } from '../../../core/http/auth/guard.ts'
import { LOOKUP_REFUSALS, problem, REFUSALS } from '../errors.ts'
import type { Language } from '../languages/language.ts'
import type { Offered, OfferedLanguages } from '../languages/offered-languages.ts'
import type { ProblemStore, StoredProblem } from './problem-store.ts'

const LIMIT_DEFAULT = 100

const NumberOrNull = Type.Union([Type.Number(), Type.Null()])
const BRIEF = {
  problem_id: Type.String(),
  title: Type.String(),
  type: Type.String({ description: 'pass-fail or scoring.' }),
  interactive: Type.Boolean(),
  time_limit_ms: Type.Number(),
  memory_mb: Type.Number(),
  tests: Type.Integer(),
  updated_at: Type.String(),
}
const Listed = Type.Object({
  problems: Type.Array(Type.Object(BRIEF)),
  next_after: Type.Union([Type.String(), Type.Null()], { description: '`after` of the next page; null: the last.' }),
})
const Detail = Type.Object({
  ...BRIEF,
  output_mb: Type.Number(),
  time_limits_ms: Type.Record(Type.String(), Type.Number(), {
    description: 'Of languages that have one of their own.',
  }),
  max_score: NumberOrNull,
  groups: Type.Array(Type.Object({ name: Type.String(), max_score: NumberOrNull })),
  languages: Type.Array(
    Type.Object({
      id: Type.String(),
      name: Type.String(),
      version: Type.Union([Type.String(), Type.Null()], { description: 'Null: nobody judges at the moment.' }),
    }),
  ),
  samples: Type.Array(Type.Object({ name: Type.String(), input: Type.String(), output: Type.String() })),
  statement: Type.Union([
    Type.Object({ language: Type.String(), format: Type.String(), text: Type.String() }),
    Type.Null(),
  ]),
  pictures: Type.Array(Type.String(), {
    description: 'Names of pictures for GET /problems/{problem_id}/statement/{file}.',
  }),
})
const Query = Type.Object({
  after: Type.Optional(Type.String({ maxLength: 100 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, description: `Default ${LIMIT_DEFAULT}.` })),
})
export const ProblemPath = Type.Object({ problem_id: Type.String({ maxLength: 512 }) })

export interface ReadProblemsDeps extends Pick<Deps, 'identity'> {
  problems: ProblemStore
  languages: ReadonlyMap<string, Language>
  offered: OfferedLanguages
}

export const problemsRoute =
  ({ identity, problems, languages, offered }: ReadProblemsDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.addHook('onRequest', requireAccount(identity))
    const documented = { tags: ['judge'], security: SECURED }

    app.get(
      '/problems',
      {
        schema: {
          ...documented,
          summary: 'List problems, by id.',
          querystring: Query,
          response: { 200: Listed, ...REFUSALS },
        },
      },
      async (request) => {
        const { after = '', limit = LIMIT_DEFAULT } = request.query
        const found = await problems.list({ after, limit: limit + 1 }) // one more tells whether there is a next page
        const page = found.slice(0, limit)
        return {
          problems: page.map(briefOf),
          next_after: found.length > limit ? (page.at(-1)?.problemId ?? null) : null,
        }
      },
    )

    app.get(
      '/problems/:problem_id',
      {
        schema: {
          ...documented,
          summary: 'One problem: limits, languages, samples, statement.',
          params: ProblemPath,
          response: { 200: Detail, ...LOOKUP_REFUSALS },
        },
      },
      async (request) => {
        const found = await problems.get(request.params.problem_id)
        if (found === null) throw problem('problem_not_found')
        return detailOf(found, languages, await offered.read())
      },
    )
  }

const briefOf = ({ problemId, title, tests, about, updatedAt }: StoredProblem) => ({
  problem_id: problemId,
  title,
  type: about.type,
  interactive: about.interactive,
  time_limit_ms: about.time_limit_ms,
  memory_mb: about.memory_mb,
  tests,
  updated_at: updatedAt.toISOString(),
})

function detailOf(stored: StoredProblem, languages: ReadonlyMap<string, Language>, offered: Offered) {
  const { about } = stored
  const isTaken = ({ id }: Language) =>
    (about.languages === null || about.languages.includes(id)) && (offered === null || offered.has(id))
  return {
    ...briefOf(stored),
    output_mb: about.output_mb,
    time_limits_ms: about.time_limits_ms,
    max_score: about.max_score,
    groups: about.groups,
    languages: [...languages.values()]
      .filter(isTaken)
      .map(({ id, name }) => ({ id, name, version: offered?.get(id) ?? null })),
    samples: about.samples,
    statement: about.statement,
    pictures: (about.pictures ?? []).map(({ name }) => name),
  }
}
