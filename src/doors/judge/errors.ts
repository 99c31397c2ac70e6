// {"error","code"}: a sentence for people, a word for programs.
import { Type } from 'typebox'
import { HttpError, type ErrorReport } from '../../core/http/errors/http-error.ts'

const JUDGE_ERRORS = {
  problem_not_found: [404, 'There is no such problem.'],
  picture_not_found: [404, 'The statement has no such picture.'],
  submission_not_found: [404, 'There is no such submission.'],
  unsupported_language: [400, 'This language is not one of those that are judged here.'],
  code_too_large: [400, 'The code has more than 65536 bytes.'],
  code_empty: [400, 'The code is empty.'],
  input_too_large: [400, 'The input has more than 65536 bytes.'],
  not_runnable: [400, 'An interactive problem cannot be run on an input.'],
  not_finished: [409, 'The submission has no verdict yet.'],
  invalid_problem_id: [400, 'A problem id has 1 to 64 letters, digits, dots, hyphens and underscores.'],
  invalid_package: [400, 'The package cannot be judged.'],
} as const satisfies Record<string, readonly [status: number, message: string]>

export type JudgeCode = keyof typeof JUDGE_ERRORS

export const problem = (code: JudgeCode, message?: string): HttpError =>
  new HttpError(JUDGE_ERRORS[code][0], code, message ?? JUDGE_ERRORS[code][1])

export const errorBody = ({ code, message }: ErrorReport): object => ({ error: message, code })

const ErrorBody = Type.Object({ error: Type.String(), code: Type.String() })

/** For the documentation of a route. */
export const REFUSALS = { 400: ErrorBody, 401: ErrorBody }
export const LOOKUP_REFUSALS = { 400: ErrorBody, 401: ErrorBody, 404: ErrorBody }
export const SUBMIT_REFUSALS = { ...LOOKUP_REFUSALS, 422: ErrorBody, 429: ErrorBody }
export const REJUDGE_REFUSALS = { ...LOOKUP_REFUSALS, 403: ErrorBody, 409: ErrorBody }
export const ADMIN_REFUSALS = { 400: ErrorBody, 401: ErrorBody, 403: ErrorBody, 413: ErrorBody, 415: ErrorBody }
