// What the desk does for other doors: a `captcha` problem becomes a question to a person, and the answer is a text.
import type { Begun, Capability, WorkOutcome, WorkRequest } from '../../../core/capabilities.ts'
import { hashBody } from '../../../core/http/request/idempotency.ts'
import { HttpError } from '../../../core/http/errors/http-error.ts'
import { cancelled } from '../changes/end-changes.ts'
import { createTask, NO_ACCOUNT, type CreateParts } from '../tasks/create-store.ts'
import { parseTask } from '../tasks/create-task.ts'
import type { Desk } from '../desk.ts'
import { mayBeTask } from '../domains/domain-store.ts'
import { imageFrom } from '../tasks/image.ts'
import { openSolution } from '../solutions/open-solution.ts'

const SCOPE = 'desk offer' // stored with jobs: not to be renamed
const CREATOR = 'another door'
const QUESTION = 'Solve the CAPTCHA and write down what it asks for.'
const URL_CHARS_MAX = 2048
const QUESTION_CHARS_MAX = 4000
const IMAGE_CHARS_MAX = 700_000

type CapabilityParts = CreateParts & Pick<Desk, 'database' | 'sealer' | 'proxies' | 'settings'>

export const openCaptchaCapability = (parts: CapabilityParts): Capability => ({
  begin: (request) => begin(parts, request),
  async outcomeOf(job): Promise<WorkOutcome> {
    const task = await parts.tasks.findByJob(job.jobId)
    if (task === null) return { ok: false, code: 'GONE', message: 'The task is gone.' }
    if (task.status === 'expired') return { ok: false, code: 'EXPIRED', message: 'Nobody claimed the task in time.' }
    if (task.status !== 'solved')
      return { ok: false, code: 'UNSOLVABLE', message: task.last_error ?? 'The task was marked as unsolvable.' }
    const solution = openSolution(parts.sealer, task)
    if (solution === null) return { ok: false, code: 'GONE', message: 'The solution was deleted before it was read.' }
    return { ok: true, answer: answerOf(solution.payload) }
  },
  async withdraw(jobId, reason) {
    const { ledger, changes, tasks } = parts
    const task = await tasks.findByJob(jobId)
    if (task === null) return
    const change = cancelled(task, CREATOR, reason)
    const answer = await ledger.cancel({ jobId, reason, effects: changes.effects(change) })
    if (answer.ok) changes.committed(change)
  },
})

async function begin(parts: CapabilityParts, { key, askedBy, body, trace, wantedUntil }: WorkRequest): Promise<Begun> {
  const asked = textsOf(body)
  if (asked === null) return wrong('A captcha problem has a url, an image (base64) or a question, each a text.')
  const { url, image, question } = asked
  const fields = image === undefined ? [] : [{ type: 'image' as const, name: 'picture', image }]
  const parsed = parseTask(parts, {
    ...(url === undefined ? {} : { url }),
    challenge_type: 'captcha',
    metadata: { wanted_until: wantedUntil.toISOString() },
    form: { question, fields },
  })
  if (parsed instanceof HttpError) return wrong(parsed.message)
  if (!(await mayBeTask(parts.database, parsed.page.domain)))
    return wrong(`domain_not_authorised: ${parsed.page.domain} is not on the desk's list.`)

  const idempotency = { scope: SCOPE, key, bodyHash: hashBody(body) }
  const created = await createTask(parts, {
    ...parsed,
    accountId: NO_ACCOUNT,
    creator: CREATOR,
    trace,
    idempotency,
    askedBy,
  })
  return created.ok ? { ok: true, jobId: created.task.job_id } : wrong('Another problem was sent under the same name.')
}

const wrong = (message: string): Begun => ({ ok: false, code: 'INVALID_PROBLEM', message })

/** Null: one of them is not a text, or none is given. `data` and `description` are what older Challengers call image and question. */
function textsOf(body: Readonly<Record<string, unknown>>) {
  const read = (name: string, charsMax: number) => {
    const value = body[name]
    if (value === undefined || value === null) return undefined
    return typeof value === 'string' && value !== '' && value.length <= charsMax ? value : null
  }
  const url = read('url', URL_CHARS_MAX)
  const image = read('image', IMAGE_CHARS_MAX)
  const data = read('data', IMAGE_CHARS_MAX)
  const asked = read('question', QUESTION_CHARS_MAX) ?? read('description', QUESTION_CHARS_MAX)
  if (url === null || image === null || data === null || asked === null) return null
  if (url === undefined && image === undefined && data === undefined && asked === undefined) return null
  const question = asked ?? QUESTION
  // Data that is no picture is a part of the question.
  if (image !== undefined || data === undefined || imageFrom(data) !== null)
    return { url, image: image ?? data, question }
  return { url, image, question: `${question}\n\n${data}` }
}

/** The one field's text, or all fields as JSON. */
function answerOf(payload: unknown): string {
  if (typeof payload === 'string') return payload
  const values: unknown[] = typeof payload === 'object' && payload !== null ? Object.values(payload) : []
  return values.length === 1 && typeof values[0] === 'string' ? values[0] : JSON.stringify(payload)
}
