// The capability `code` for other doors: a problem {problem_id, language, code} is judged as a submission without an owner,
// and its verdict is the answer.
import type { Deps } from '../../../core/door.ts'
import { hashBody } from '../../../core/http/request/idempotency.ts'
import type { Capability } from '../../../core/capabilities.ts'
import { checkSubmission, type CheckDeps } from './check-submission.ts'
import { problem } from '../errors.ts'
import { effectsOfDeath } from '../work/judge-kind.ts'
import type { JudgePayload } from './payload.ts'
import { resultFrom } from './result.ts'
import { messageOf } from './submit.ts'
import { STATUS_TEXT } from './verdict.ts'
import { JUDGE_KIND } from '../settings.ts'

const SCOPE = 'judge:offer' // stored with jobs: not to be renamed

export interface CodeCapabilityDeps extends Pick<Deps, 'ledger' | 'events'> {
  checking: CheckDeps
}

export const codeCapability = ({ ledger, events, checking }: CodeCapabilityDeps): Capability => ({
  async begin({ key, askedBy, body, trace }) {
    const invalid = (message: string) => ({ ok: false, code: 'INVALID_PROBLEM', message }) as const
    const { problem_id: problemId, language, code } = body
    if (typeof problemId !== 'string' || typeof language !== 'string' || typeof code !== 'string')
      return invalid('problem_id, language and code must be strings.')
    const checked = await checkSubmission(checking, { problemId, language, code })
    if (!checked.ok) return invalid(problem(checked.code, messageOf(checked)).message)
    const payload: JudgePayload = { ...checked.payload, asked_by: askedBy }
    const idempotency = { scope: SCOPE, key, bodyHash: hashBody({ problemId, language, code }) }
    const submitted = await ledger.submit({ kind: JUDGE_KIND, payload, trace, idempotency })
    return submitted.ok ? submitted : invalid('This problem was begun with another body.')
  },

  async outcomeOf({ jobId, result: stored, reason }) {
    const result = resultFrom(stored)
    if (result === null) return { ok: false, code: 'JUDGE_FAILED', message: `Not judged: ${reason ?? 'unknown'}` }
    const { verdict, time_ms, mem_kb, score } = result
    const metadata = { job_id: jobId, status_text: STATUS_TEXT[verdict], time_ms, mem_kb }
    return { ok: true, answer: verdict, metadata: score === undefined ? metadata : { ...metadata, score } }
  },

  async withdraw(jobId, reason) {
    await ledger.cancel({ jobId, reason, effects: effectsOfDeath(events, jobId, reason) })
  },
})
