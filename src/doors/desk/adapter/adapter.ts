// The common solver API: the JSON API that libraries of solving services speak (createTask, getTaskResult, report…, getBalance). A
// program written for one of them works here with another host name. The client key is an API key of an account with the role
// SCRAPER. As in that API, errors have status 200 and an errorId.
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { isObject } from '../../../core/values/is-object.ts'
import type { Account } from '../../../core/identity/accounts.ts'
import { httpErrorFrom } from '../../../core/http/errors/handle-error.ts'
import { audit } from '../changes/audit.ts'
import { checkDomain } from '../tasks/create-task.ts'
import { createTask, type CreateParts } from '../tasks/create-store.ts'
import type { Desk } from '../desk.ts'
import { openSolution } from '../solutions/open-solution.ts'
import { reportBad } from '../solutions/report-bad.ts'
import type { WholeTaskRow } from '../tasks/task.ts'
import { AdapterError, type AdapterCode } from './adapter-errors.ts'
import { adaptSolution, adaptTask } from './adapter-tasks.ts'

const BODY_BYTES_MAX = 1024 * 1024
/** Nothing is paid here. Programs ask before they begin, and this is always enough. */
const BALANCE = 1000

const REPORT_BAD = [
  '/reportIncorrect',
  '/reportIncorrectRecaptcha',
  '/reportIncorrectHcaptcha',
  '/reportIncorrectImageCaptcha',
]
const REPORT_GOOD = ['/reportCorrect', '/reportCorrectRecaptcha']

export const ADAPTER_PATHS = ['/createTask', '/getTaskResult', '/getBalance', ...REPORT_BAD, ...REPORT_GOOD]

/** Errors have status 200 too. */
const AdapterAnswer = Type.Object(
  {
    errorId: Type.Integer({ description: '0: no error.' }),
    errorCode: Type.Optional(Type.String()),
    errorDescription: Type.Optional(Type.String()),
    taskId: Type.Optional(Type.Unknown()),
    status: Type.Optional(Type.String()),
    solution: Type.Optional(Type.Unknown()),
    balance: Type.Optional(Type.Number()),
  },
  { additionalProperties: true },
)

type Fields = Readonly<Record<string, unknown>>

type AdapterParts = CreateParts & Pick<Desk, 'identity' | 'settings' | 'database' | 'sealer'>

export const adapterRoutes =
  (parts: AdapterParts): FastifyPluginAsync =>
  async (app) => {
    app.setErrorHandler((error, request, reply) => {
      if (error instanceof AdapterError) return reply.code(200).send(error.body)
      const { status, code, message } = httpErrorFrom(error)
      if (status >= 500) request.log.error({ err: error }, 'request failed')
      return reply.code(200).send(new AdapterError(codeOf(status, code), status < 500 ? message : undefined).body)
    })
    const method = (
      path: string,
      answer: (fields: Fields, account: Account, request: FastifyRequest) => Promise<object>,
    ) => {
      const schema = {
        tags: ['desk'],
        summary: 'The common solver API; clientKey is an API key.',
        response: { 200: AdapterAnswer },
      }
      app.post(path, { bodyLimit: BODY_BYTES_MAX, schema }, async (request) => {
        const { body } = request
        if (!isObject(body)) throw new AdapterError('ERROR_BAD_PARAMETERS', 'The body is not a JSON object.')
        return answer(body, await accountOfKey(parts, body['clientKey']), request)
      })
    }

    method('/createTask', (fields, account, request) => create(parts, fields, account, request))
    method('/getTaskResult', async (fields, account) => resultOf(parts, await findOwn(parts, fields, account)))
    method('/getBalance', async () => ({ errorId: 0, balance: BALANCE }))
    for (const path of REPORT_BAD) {
      method(path, async (fields, account) => {
        const task = await findSolved(parts, fields, account)
        await reportBad(parts, task, account.username)
        return { errorId: 0, status: 'success' }
      })
    }
    for (const path of REPORT_GOOD) {
      method(path, async (fields, account) => {
        const task = await findSolved(parts, fields, account)
        await audit(parts.database, { action: 'reported_good', actor: account.username, uuid: task.uuid })
        return { errorId: 0, status: 'success' }
      })
    }
  }

async function accountOfKey({ identity }: AdapterParts, key: unknown): Promise<Account> {
  const account = typeof key === 'string' ? await identity.authenticate({ kind: 'api_key', secret: key }) : null
  if (account === null || !account.roles.includes('SCRAPER')) throw new AdapterError('ERROR_KEY_DOES_NOT_EXIST')
  return account
}

async function create(parts: AdapterParts, fields: Fields, account: Account, request: FastifyRequest): Promise<object> {
  const { task } = fields
  if (!isObject(task)) throw new AdapterError('ERROR_TASK_ABSENT')
  if (typeof fields['callbackUrl'] === 'string' && fields['callbackUrl'] !== '')
    throw new AdapterError('ERROR_BAD_PARAMETERS', 'callbackUrl is not supported: ask getTaskResult.')
  const adapted = adaptTask(task)
  await checkDomain(parts, adapted.page.domain)
  const created = await createTask(parts, {
    ...adapted,
    accountId: account.accountId,
    creator: account.username,
    errorMessage: null,
    requestId: null,
    scrapeOptions: null,
    callbackUrl: null,
    priority: parts.settings.CAPTCHA_DEFAULT_PRIORITY,
    proxy: null,
    isShared: false, // a token is good once: each call is new work
    trace: request.trace,
    idempotency: null,
    askedBy: null,
  })
  if (!created.ok) throw new AdapterError('ERROR_INTERNAL')
  return { errorId: 0, taskId: Number(created.task.id) }
}

async function findOwn({ tasks }: AdapterParts, fields: Fields, account: Account): Promise<WholeTaskRow> {
  const { taskId } = fields
  const id = typeof taskId === 'number' || typeof taskId === 'string' ? Number(taskId) : NaN
  const isId = Number.isSafeInteger(id) && id > 0
  const task = isId ? await tasks.findById(id) : null
  if (task === null || Number(task.account_id) !== account.accountId) throw new AdapterError('ERROR_NO_SUCH_CAPCHA_ID')
  return task
}

async function findSolved(parts: AdapterParts, fields: Fields, account: Account): Promise<WholeTaskRow> {
  const task = await findOwn(parts, fields, account)
  if (task.status !== 'solved') throw new AdapterError('ERROR_BAD_PARAMETERS', 'The task is not solved.')
  return task
}

function resultOf({ sealer }: AdapterParts, task: WholeTaskRow): object {
  if (task.status === 'unsolvable' || task.status === 'expired') throw new AdapterError('ERROR_CAPTCHA_UNSOLVABLE')
  const solution = openSolution(sealer, task)
  if (task.status !== 'solved') return { errorId: 0, status: 'processing' }
  if (solution === null) throw new AdapterError('ERROR_NO_SUCH_CAPCHA_ID')
  return {
    errorId: 0,
    status: 'ready',
    solution: adaptSolution(task.metadata['adapter_type'], solution.payload, solution.user_agent ?? task.user_agent),
    cost: '0.00000',
    ip: '127.0.0.1',
    createTime: Math.floor(task.created_at.getTime() / 1000),
    endTime: Math.floor((task.ended_at ?? task.now).getTime() / 1000),
    solveCount: 1,
  }
}

function codeOf(status: number, code: string): AdapterCode {
  if (code === 'domain_not_authorised') return 'ERROR_DOMAIN_NOT_ALLOWED'
  if (status === 429) return 'ERROR_NO_SLOT_AVAILABLE'
  if (status === 413) return 'ERROR_TOO_BIG_CAPTCHA_FILESIZE'
  return status >= 500 ? 'ERROR_INTERNAL' : 'ERROR_BAD_PARAMETERS'
}
