// What contestants may see of a problem. Collected when the package is imported, and stored with it.
import { readStart } from '../programs/read-start.ts'
import { readPictures, type StatementPicture } from '../package/pictures.ts'
import type { ProblemPackage, Statement, TestGroup } from '../package/package.ts'
import { maxScoreOf } from '../work/judge-tests.ts'

const MB = 1024 * 1024
const SAMPLES_MAX = 20
const SAMPLE_BYTES_MAX = 16 * 1024

export interface ProblemAbout {
  type: 'pass-fail' | 'scoring'
  interactive: boolean
  time_limit_ms: number
  /** Of the languages that have one of their own. */
  time_limits_ms: Record<string, number>
  memory_mb: number
  output_mb: number
  /** Null: every language. */
  languages: readonly string[] | null
  max_score: number | null
  groups: { name: string; max_score: number | null }[]
  samples: { name: string; input: string; output: string }[]
  statement: Statement | null
  /** Absent of problems that were imported before pictures were kept. */
  pictures?: readonly StatementPicture[]
}

export async function aboutOf(problem: ProblemPackage): Promise<ProblemAbout> {
  const { limits } = problem
  const samples = problem.tests.filter((test) => test.isSample).slice(0, SAMPLES_MAX)
  return {
    type: problem.isScoring ? 'scoring' : 'pass-fail',
    interactive: problem.isInteractive,
    time_limit_ms: limits.timeMs,
    time_limits_ms: Object.fromEntries(limits.timeMsOf),
    memory_mb: limits.memoryBytes / MB,
    output_mb: limits.outputBytes / MB,
    languages: problem.languages,
    max_score: problem.isScoring ? maxScoreOf(problem.root) : null,
    groups: problem.isScoring ? innerGroups(problem.root) : [],
    samples: await Promise.all(
      samples.map(async ({ name, inputPath, answerPath }) => ({
        name,
        input: await readStart(inputPath, SAMPLE_BYTES_MAX),
        output: await readStart(answerPath, SAMPLE_BYTES_MAX),
      })),
    ),
    statement: problem.statement,
    pictures: await readPictures(problem.folder),
  }
}

const innerGroups = (group: TestGroup): ProblemAbout['groups'] =>
  group.children.flatMap((child) => {
    if (child.kind === 'test') return []
    const own = { name: child.name, max_score: Number.isFinite(child.range[1]) ? child.range[1] : null }
    return [...(child.name.includes('/') ? [own] : []), ...innerGroups(child)]
  })
