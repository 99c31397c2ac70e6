// Checks a submission before it becomes a job, for the route and for other doors.
import { refused, type Refused } from '../../../core/values/outcome.ts'
import type { JudgeCode } from '../errors.ts'
import type { Language } from '../languages/language.ts'
import type { OfferedLanguages } from '../languages/offered-languages.ts'
import type { JudgePayload } from './payload.ts'
import type { ProblemStore } from '../problems/problem-store.ts'

export const CODE_BYTES_MAX = 64 * 1024

export interface CheckDeps {
  problems: ProblemStore
  languages: ReadonlyMap<string, Language>
  offered: OfferedLanguages
}

/** In order of precedence. */
export type SubmissionRefusal = Extract<
  JudgeCode,
  'code_too_large' | 'code_empty' | 'unsupported_language' | 'problem_not_found'
>

export type CheckedSubmission =
  | { ok: true; payload: JudgePayload; isInteractive: boolean }
  /** `known`: the languages that could have been named. */
  | (Refused<SubmissionRefusal> & { known?: readonly string[] })

export async function checkSubmission(
  { problems, languages, offered }: CheckDeps,
  asked: { problemId: string; language: string; code: string },
): Promise<CheckedSubmission> {
  const { problemId, language, code } = asked
  if (Buffer.byteLength(code) > CODE_BYTES_MAX) return refused('code_too_large')
  if (code.trim() === '') return refused('code_empty')
  if (!languages.has(language)) return unsupported(languages.keys())

  const problem = await problems.get(problemId)
  if (problem === null) return refused('problem_not_found')
  const { languages: allowed } = problem.about
  if (allowed !== null && !allowed.includes(language)) return unsupported(allowed)
  const available = await offered.read()
  if (available !== null && !available.has(language)) return unsupported(available.keys())
  const payload = { problem_id: problemId, package: problem.packageSha256, language, code }
  return { ok: true, payload, isInteractive: problem.about.interactive }
}

const unsupported = (known: Iterable<string>) => ({ ...refused('unsupported_language'), known: [...known] })
