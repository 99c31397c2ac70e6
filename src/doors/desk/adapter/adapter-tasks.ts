// Maps tasks of the common solver API to tasks of the desk, and solutions back. A picture is a question with a form; a page with a
// widget is a task for a token, whose domain must be on the list like any other.
import { NO_PAGE, parsePage, type Page } from '../domains/domain.ts'
import { parseForm } from '../tasks/form.ts'
import { imageFrom } from '../tasks/image.ts'
import { HttpError } from '../../../core/http/errors/http-error.ts'
import type { Form, Image } from '../tasks/task.ts'
import { AdapterError } from './adapter-errors.ts'

const IMAGE_BASE64_CHARS_MAX = 700_000
const TEXT_CHARS_MAX = 2000
const METADATA_CHARS_MAX = 16_384

type TaskFields = Readonly<Record<string, unknown>>

export interface AdaptedTask {
  page: Page
  challengeType: string
  userAgent: string | null
  metadata: Record<string, unknown>
  question: { form: Form; images: readonly Image[] } | null
}

/** Under which name libraries expect the token. Those with a proxy are the same work: the desk has proxies of its own. */
const TOKEN_TASKS = new Map<string, readonly [challengeType: string, field: 'gRecaptchaResponse' | 'token']>([
  ['NoCaptchaTask', ['recaptcha', 'gRecaptchaResponse']],
  ['RecaptchaV2Task', ['recaptcha', 'gRecaptchaResponse']],
  ['RecaptchaV2EnterpriseTask', ['recaptcha', 'gRecaptchaResponse']],
  ['RecaptchaV3Task', ['recaptcha', 'gRecaptchaResponse']],
  ['HCaptchaTask', ['hcaptcha', 'gRecaptchaResponse']],
  ['TurnstileTask', ['turnstile', 'token']],
  ['FunCaptchaTask', ['funcaptcha', 'token']],
])

/** What an operator needs to see of one. Proxies, their passwords and cookies stay out. */
const SHOWN = [
  'isInvisible',
  'minScore',
  'pageAction',
  'action',
  'data',
  'cData',
  'enterprisePayload',
  'recaptchaDataSValue',
]

export function adaptTask(task: TaskFields): AdaptedTask {
  const { type } = task
  if (typeof type !== 'string') throw new AdapterError('ERROR_TASK_NOT_SUPPORTED')
  if (type === 'ImageToTextTask') return imageTask(task)
  if (type === 'TextCaptchaTask') return questionTask(task, textOf(task, 'comment') ?? missing('comment'), null)
  const known = TOKEN_TASKS.get(baseOf(type))
  if (known === undefined) throw new AdapterError('ERROR_TASK_NOT_SUPPORTED')
  const page = pageOf(task) ?? missing('websiteURL')
  const widget = textOf(task, 'websiteKey') ?? textOf(task, 'websitePublicKey') ?? missing('websiteKey')
  const shown = SHOWN.flatMap((name) => (isGiven(task[name]) ? [[name, task[name]] as const] : []))
  const metadata = { ...Object.fromEntries(shown), adapter_type: type, website_key: widget }
  if (JSON.stringify(metadata).length > METADATA_CHARS_MAX) throw bad('The task is too large.')
  const userAgent = textOf(task, 'userAgent')
  if (userAgent !== null && !/^[\x20-\x7e]{0,1024}$/.test(userAgent)) throw bad('userAgent is not a plain text.')
  return { page, challengeType: known[0], userAgent, metadata, question: null }
}

/** The solution in the words of the task's type. A token may be good only with the user agent that it was made with. */
export function adaptSolution(type: unknown, payload: unknown, userAgent: string | null): Record<string, unknown> {
  const field = typeof type === 'string' ? TOKEN_TASKS.get(baseOf(type))?.[1] : undefined
  if (field !== undefined) return { [field]: payload, ...(userAgent === null ? {} : { userAgent }) }
  const text = typeof payload === 'object' && payload !== null && 'answer' in payload ? payload.answer : payload
  return { text }
}

const baseOf = (type: string): string => type.replace(/(?:M1)?Proxyless$/i, '').replace(/^ReCaptcha/, 'Recaptcha')

function imageTask(task: TaskFields): AdaptedTask {
  const body = task['body']
  if (typeof body !== 'string') throw bad('body is missing.')
  if (body === '') throw new AdapterError('ERROR_ZERO_CAPTCHA_FILESIZE')
  if (body.length > IMAGE_BASE64_CHARS_MAX) throw new AdapterError('ERROR_TOO_BIG_CAPTCHA_FILESIZE')
  if (imageFrom(body) === null) throw new AdapterError('ERROR_IMAGE_TYPE_NOT_SUPPORTED')
  const hints = [
    textOf(task, 'comment'),
    isSet(task['phrase']) ? 'It is more than one word.' : null,
    isSet(task['case']) ? 'Capitals matter.' : null,
    task['numeric'] === 2 ? 'There are only letters.' : null,
    isSet(task['math']) ? 'Write down the result of the calculation.' : null,
  ]
  const question = ['Write down what the picture says.', ...hints.filter((hint) => hint !== null)].join(' ')
  return questionTask(task, question, body)
}

function questionTask(task: TaskFields, question: string, image: string | null): AdaptedTask {
  const minLength = lengthOf(task, 'minLength')
  const maxLength = lengthOf(task, 'maxLength')
  const answer = {
    type: 'text' as const,
    name: 'answer',
    min_length: Math.max(1, minLength),
    digits_only: task['numeric'] === 1,
    ...(maxLength === 0 ? {} : { max_length: maxLength }),
  }
  const fields = image === null ? [answer] : [{ type: 'image' as const, name: 'picture', image }, answer]
  const parsed = parseForm({ question, fields })
  if (parsed instanceof HttpError) throw bad(parsed.message)
  const page = pageOf(task) ?? parsePage(NO_PAGE)
  if (page === null) throw bad('websiteURL is not a URL.')
  const metadata = { adapter_type: task['type'] }
  return { page, challengeType: image === null ? 'text' : 'image', userAgent: null, metadata, question: parsed }
}

function pageOf(task: TaskFields): Page | null {
  const url = textOf(task, 'websiteURL')
  if (url === null) return null
  return parsePage(url) ?? missing('websiteURL')
}

function lengthOf(task: TaskFields, name: string): number {
  const value = task[name] ?? 0
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > TEXT_CHARS_MAX)
    throw bad(`${name} is not a length.`)
  return value
}

/** Libraries send everything, and null or an empty text for what there is not. */
const isGiven = (value: unknown): boolean => value !== undefined && value !== null && value !== ''

/** Libraries say 0, false or nothing for what is not set. */
const isSet = (value: unknown): boolean => value === true || value === 1

function textOf(task: TaskFields, name: string): string | null {
  const value = task[name] ?? ''
  if (value === '' || value === false || value === 0) return null
  if (typeof value !== 'string' || value.length > TEXT_CHARS_MAX) throw bad(`${name} is not a text.`)
  return value
}

const bad = (message: string) => new AdapterError('ERROR_BAD_PARAMETERS', message)

function missing(name: string): never {
  throw bad(`${name} is missing or wrong.`)
}
