// Verdicts as people read them: the same words and colours on every page.
import type { JudgeVerdict, Submission, SubmissionLine } from '@reeve/sdk'
import type { Stated } from '../../../parts/data/state-badge.tsx'

export const VERDICTS: Readonly<Record<JudgeVerdict, Stated>> = {
  AC: { tone: 'good', word: 'Accepted' },
  WA: { tone: 'bad', word: 'Wrong Answer' },
  TLE: { tone: 'bad', word: 'Time Limit Exceeded' },
  MLE: { tone: 'bad', word: 'Memory Limit Exceeded' },
  OLE: { tone: 'bad', word: 'Output Limit Exceeded' },
  RE: { tone: 'bad', word: 'Runtime Error' },
  CE: { tone: 'bad', word: 'Compile Error' },
  SE: { tone: 'warn', word: 'System Error' },
}

export function stateOf({ status, verdict }: Pick<Submission | SubmissionLine, 'status' | 'verdict'>): Stated {
  if (verdict !== undefined && verdict !== null) return VERDICTS[verdict]
  return status === 'RUNNING' ? { tone: 'active', word: 'Running' } : { tone: 'quiet', word: 'Waiting' }
}

/** `4.2 MB` of the kilobytes that the judge counts. */
export const memory = (kb: number): string =>
  kb < 1024 ? `${kb} KB` : `${(kb / 1024).toFixed(kb < 10 * 1024 ? 1 : 0)} MB`

export const milliseconds = (ms: number): string =>
  ms < 1000 ? `${Math.round(ms)} ms` : `${Number((ms / 1000).toFixed(2))} s`

const LANGUAGES: Readonly<Record<string, string>> = {
  c: 'C',
  cpp: 'C++',
  python3: 'Python 3',
  javascript: 'JavaScript',
  java: 'Java',
  rust: 'Rust',
}

/** A server may have languages of its own, which are known by their id. */
export const languageName = (id: string): string => LANGUAGES[id] ?? id
