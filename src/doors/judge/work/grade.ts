// What a group's tests come to: one verdict, one score. The flags are the package format's default grader.
import type { Grading } from '../package/package.ts'
import type { Verdict } from '../submissions/verdict.ts'

export interface Graded {
  verdict: Verdict
  score: number
}

/** Worst first. */
const SEVERITY: readonly Verdict[] = ['SE', 'CE', 'RE', 'MLE', 'TLE', 'OLE', 'WA', 'AC']

/** A group in which nothing was judged is accepted, with nothing. */
export function grade(all: readonly Graded[], grading: Grading): Graded {
  const results = grading.ignoreSample ? all.slice(-1) : all
  if (results.length === 0) return { verdict: 'AC', score: 0 }
  return { verdict: verdictOf(results, grading), score: scoreOf(results, grading) }
}

function verdictOf(results: readonly Graded[], { verdict, acceptIfAnyAccepted }: Grading): Verdict {
  const verdicts = results.map((result) => result.verdict)
  if (acceptIfAnyAccepted && verdicts.includes('AC')) return 'AC'
  switch (verdict) {
    case 'always_accept':
      return 'AC'
    case 'first_error':
      return verdicts.find((one) => one !== 'AC') ?? 'AC'
    case 'worst_error':
      return SEVERITY.find((one) => verdicts.includes(one)) ?? 'AC'
  }
}

function scoreOf(results: readonly Graded[], { score }: Grading): number {
  const scores = results.map((result) => result.score)
  switch (score) {
    case 'sum':
      return scores.reduce((sum, one) => sum + one, 0)
    case 'avg':
      return scores.reduce((sum, one) => sum + one, 0) / scores.length
    case 'min':
      return Math.min(...scores)
    case 'max':
      return Math.max(...scores)
  }
}
