// The tests in their order, group by group, until a group says that it is enough; then what they come to.
import { grade, type Graded } from './grade.ts'
import type { Test, TestGroup } from '../package/package.ts'
import type { TestResult } from './run-test.ts'

export interface GroupResult extends Graded {
  name: string
  maxScore: number | null
}

export interface TestsResult extends Graded {
  tests: TestResult[]
  /** Those below sample and secret, where there are any. */
  groups: GroupResult[]
}

export async function judgeTests(root: TestGroup, runTest: (test: Test) => Promise<TestResult>): Promise<TestsResult> {
  const tests: TestResult[] = []
  const groups: GroupResult[] = []

  const judgeGroup = async (group: TestGroup): Promise<Graded> => {
    const results: Graded[] = []
    for (const child of group.children) {
      const result = child.kind === 'group' ? await judgeGroup(child) : await judgeTest(child, group)
      if (child.kind === 'group' && hasTests(child)) results.push(result)
      if (child.kind === 'test') results.push(result)
      if (result.verdict !== 'AC' && group.onReject === 'break') break
    }
    const graded = grade(results, group.grading)
    if (isInnerGroup(group)) groups.push({ name: group.name, ...graded, maxScore: finiteOrNull(group.range[1]) })
    return graded
  }

  const judgeTest = async (test: Test, group: TestGroup): Promise<Graded> => {
    const tested = await runTest(test)
    tests.push(tested)
    const { verdict } = tested
    return { verdict, score: verdict === 'AC' ? (tested.score ?? group.acceptScore) : group.rejectScore }
  }

  const { verdict, score } = await judgeGroup(root)
  return { verdict, score, tests, groups }
}

const hasTests = (group: TestGroup): boolean => group.children.some((child) => child.kind === 'test' || hasTests(child))

const isInnerGroup = ({ name }: TestGroup): boolean => name.includes('/')

const finiteOrNull = (value: number): number | null => (Number.isFinite(value) ? value : null)

/** The most that a submission can get; null: the package does not say. */
export function maxScoreOf(root: TestGroup): number | null {
  if (Number.isFinite(root.range[1])) return root.range[1]
  const secret = root.children.find((child) => child.kind === 'group' && child.name === 'secret')
  return secret?.kind === 'group' ? finiteOrNull(secret.range[1]) : null
}
