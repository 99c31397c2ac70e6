// The words of this door for people.
import type { Challenge, ChallengeResult, ChallengeState, ValidationRule } from '@reeve/sdk'
import type { Stated } from '../../parts/data/state-badge.tsx'
import { isolated } from '../../parts/text/isolated.ts'

export const CHALLENGE_STATES: Readonly<Record<ChallengeState, Stated>> = {
  created: { tone: 'quiet', word: 'Not sent' },
  sending: { tone: 'active', word: 'Sending' },
  accepted: { tone: 'active', word: 'Being solved' },
  send_failed: { tone: 'bad', word: 'Not delivered' },
  deadline_passed: { tone: 'warn', word: 'Overdue' },
  completed: { tone: 'good', word: 'Answered' },
}

export function resultState({ is_correct: isCorrect, status }: ChallengeResult): Stated {
  if (isCorrect === true) return { tone: 'good', word: 'Correct' }
  if (isCorrect === false) return { tone: 'bad', word: 'Wrong' }
  return status === 'success' ? { tone: 'quiet', word: 'Not checked' } : { tone: 'bad', word: 'Not solved' }
}

const PROBLEMS: Readonly<Record<string, string>> = { math: 'Math', text: 'Text', captcha: 'Captcha', code: 'Code' }

/** What is to be solved, in a line. */
export function problemOf({ problem }: Pick<Challenge, 'problem'>): { type: string; text: string } {
  const fields: Record<string, unknown> = typeof problem === 'object' && problem !== null ? { ...problem } : {}
  const type = textOf(fields['type'])
  const subject = fields['expression'] ?? fields['text'] ?? fields['question'] ?? fields['problem_id'] ?? fields['url']
  const text = [textOf(fields['operation']).replaceAll('_', ' '), textOf(subject)].filter((part) => part !== '')
  return { type: PROBLEMS[type] ?? type, text: text.join(': ') }
}

const textOf = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '')

export function ruleOf(rule: ValidationRule): string {
  if (rule.type === 'ExactMatch') {
    return rule.params?.case_sensitive === false ? 'The same text, upper or lower case' : 'Exactly the same text'
  }
  if (rule.type === 'NumericTolerance') {
    const { tolerance = 0 } = rule.params ?? {}
    return tolerance === 0 ? 'The same number' : `A number within ${tolerance}`
  }
  return `Matches ${isolated(rule.params.pattern)}`
}
