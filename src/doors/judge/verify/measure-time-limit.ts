// A package may leave its time limit to the judge. The format says how it is found: the slowest accepted submission, times a
// factor, in whole seconds.
import { join } from 'node:path'
import { readSmallText } from '../package/files.ts'
import { readTimeRule } from '../package/limits.ts'
import { FieldReader, parseYaml } from '../package/yaml-fields.ts'
import type { LoadedProblem } from '../work/test-run.ts'
import type { VerifiedProgram } from './verify-submission.ts'

/** So long may an accepted submission take. */
const MEASURED_MS_MAX = 30_000

/** With the limit under which accepted submissions are measured; null: the package names its own. */
export async function withMeasuringLimit(problem: LoadedProblem): Promise<LoadedProblem | null> {
  return (await timeRuleOf(problem)) === null ? null : withTimeLimit(problem, MEASURED_MS_MAX)
}

/** With the limit that follows from the accepted submissions. If none was accepted, the problem keeps the default. */
export async function withMeasuredLimit(
  problem: LoadedProblem,
  accepted: readonly VerifiedProgram[],
): Promise<LoadedProblem> {
  const rule = await timeRuleOf(problem)
  const times = accepted.flatMap(({ judged }) => (judged?.verdict === 'AC' ? [judged.timeMs] : []))
  if (rule === null || times.length === 0) return problem
  return withTimeLimit(problem, Math.ceil((Math.max(...times) * rule.factor) / 1000) * 1000)
}

function withTimeLimit(problem: LoadedProblem, timeMs: number): LoadedProblem {
  const { limits } = problem.package
  const timed = { ...limits, timeMs: Math.max(timeMs, 1000), timeMsOf: new Map<string, number>() }
  return { ...problem, package: { ...problem.package, limits: timed } }
}

async function timeRuleOf({ package: { folder } }: LoadedProblem): Promise<{ factor: number } | null> {
  const read = (name: string) => readSmallText(join(folder, name))
  const fields = parseYaml('problem.yaml', (await read('problem.yaml')) ?? '')
  const files = { timelimit: await read('.timelimit'), ini: await read('domjudge-problem.ini') }
  return readTimeRule(new FieldReader('problem.yaml', fields), files)
}
