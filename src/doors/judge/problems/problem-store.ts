import type { Database, Queryable } from '../../../core/db/database.ts'
import type { ProblemAbout } from './problem-about.ts'

// xmax is 0 for a new row, and not 0 after an update.
const UPSERT = `
  insert into problems as known (problem_id, title, package_sha256, package_bytes, tests, about)
  values ($1, $2, $3, $4, $5, $6)
      on conflict (problem_id) do update set
         title = excluded.title, package_sha256 = excluded.package_sha256, package_bytes = excluded.package_bytes,
         tests = excluded.tests, about = excluded.about, updated_at = clock_timestamp()
  returning xmax = 0 as created`
const NOTE_IMPORT = `insert into problem_imports (problem_id, package_sha256, account_id) values ($1, $2, $3)`
const COLUMNS = `problem_id, title, package_sha256, package_bytes, tests, about, created_at, updated_at`
const SELECT_ONE = `select ${COLUMNS} from problems where problem_id = $1`
const SELECT_PAGE = `select ${COLUMNS} from problems where problem_id > $1 order by problem_id limit $2`
const HAS_ANY = `select exists (select from problems) as any`

export interface NewProblem {
  problemId: string
  title: string
  packageSha256: string
  packageBytes: number
  tests: number
  about: ProblemAbout
}

export interface StoredProblem extends NewProblem {
  createdAt: Date
  updatedAt: Date
}

export interface ProblemStore {
  /** True: there was none of this id before. */
  put(problem: NewProblem, accountId: number | null): Promise<boolean>
  get(problemId: string): Promise<StoredProblem | null>
  /** In the order of their ids. */
  list(page: { after: string; limit: number }): Promise<StoredProblem[]>
  hasAny(): Promise<boolean>
}

export function openProblemStore(database: Database): ProblemStore {
  return {
    put: (problem, accountId) => database.transaction((tx) => put(tx, problem, accountId)),
    async get(problemId) {
      const [row] = await database.query<ProblemRow>(SELECT_ONE, [problemId])
      return row === undefined ? null : problemFrom(row)
    },
    list: async ({ after, limit }) => (await database.query<ProblemRow>(SELECT_PAGE, [after, limit])).map(problemFrom),
    hasAny: async () => (await database.query<{ any: boolean }>(HAS_ANY))[0]?.any === true,
  }
}

async function put(tx: Queryable, problem: NewProblem, accountId: number | null): Promise<boolean> {
  const { problemId, title, packageSha256, packageBytes, tests, about } = problem
  const values = [problemId, title, packageSha256, packageBytes, tests, JSON.stringify(about)]
  const [row] = await tx.query<{ created: boolean }>(UPSERT, values)
  await tx.query(NOTE_IMPORT, [problemId, packageSha256, accountId])
  return row?.created === true
}

interface ProblemRow {
  problem_id: string
  title: string
  package_sha256: string
  package_bytes: string
  tests: number
  about: ProblemAbout
  created_at: Date
  updated_at: Date
}

const problemFrom = (row: ProblemRow): StoredProblem => ({
  problemId: row.problem_id,
  title: row.title,
  packageSha256: row.package_sha256,
  packageBytes: Number(row.package_bytes),
  tests: row.tests,
  about: row.about,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
})
