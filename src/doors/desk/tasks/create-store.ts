// Creates a task: its row and its job in one transaction. The same work of the same creator, while it is open, is the same task with
// one attempt more and the higher of the two priorities.
import { createHash } from 'node:crypto'
import type { Tx } from '../../../core/db/database.ts'
import type { Ledger } from '../../../core/ledger/ledger.ts'
import type { Idempotency } from '../../../core/ledger/submit/submit.ts'
import type { Database } from '../../../core/db/database.ts'
import { assertQuota } from '../../../core/quotas/quotas.ts'
import { newJobId } from '../../../core/random.ts'
import { refused, type Refused } from '../../../core/values/outcome.ts'
import { created, repeated } from '../changes/task-changes.ts'
import type { Desk } from '../desk.ts'
import type { Page } from '../domains/domain.ts'
import { DESK_KIND, type DeskPayload } from '../changes/kind.ts'
import type { Proxy } from '../domains/proxies.ts'
import { COLUMNS, type Form, type Image, type WholeTaskRow } from './task.ts'
import type { TraceContext } from '../../../core/traces/context.ts'

const INSERT = `
  insert into captcha_task as t (uuid, job_id, account_id, url, domain, challenge_type, error_message, priority, proxy_id,
         proxy_shown, user_agent, request_id, metadata, scrape_options, callback_url, form, images, dup_key)
  select uuid, uuid, account_id, url, domain, challenge_type, error_message, priority, proxy_id, proxy_shown, user_agent,
         request_id, metadata, scrape_options, callback_url, form, images, dup_key
    from json_to_recordset($1) as r (uuid uuid, account_id bigint, url text, domain text, challenge_type text,
         error_message text, priority integer, proxy_id text, proxy_shown text, user_agent text, request_id text,
         metadata json, scrape_options json, callback_url text, form json, images json, dup_key text)
      on conflict (account_id, dup_key) where ended_at is null and dup_key is not null do update
     set attempts = t.attempts + 1, priority = greatest(t.priority, excluded.priority),
         last_error = coalesce(excluded.error_message, t.last_error), updated_at = clock_timestamp()
  returning ${COLUMNS}, t.solver_result, t.images`

const COUNT_OPEN = `
  select account_id, count(*)::integer as count from captcha_task
   where account_id = any($1::bigint[]) and ended_at is null group by account_id`

/** For the quota of open tasks. */
export async function countOpenTasks(database: Database, accountIds: readonly number[]): Promise<Map<number, number>> {
  const rows = await database.query<{ account_id: string; count: number }>(COUNT_OPEN, [accountIds])
  return new Map(rows.map((row) => [Number(row.account_id), row.count]))
}

export interface NewTask {
  accountId: number
  creator: string
  page: Page
  challengeType: string | null
  errorMessage: string | null
  requestId: string | null
  priority: number
  proxy: Proxy | null
  userAgent: string | null
  metadata: Readonly<Record<string, unknown>>
  scrapeOptions: unknown
  callbackUrl: string | null
  question: { form: Form; images: readonly Image[] } | null
  /** The same work twice is one task. A question, or a token that is good once, is new work each time. */
  isShared: boolean
  trace: TraceContext | null
  idempotency: Idempotency | null
  /** The job of another door that waits for the answer. */
  askedBy: string | null
}

export type CreateAnswer = { ok: true; task: WholeTaskRow; isNew: boolean } | Refused<'idempotency_conflict'>

/** Rolls the transaction back: the key named another task before, or (null) another body. */
class NamedBefore extends Error {
  override name = 'NamedBefore'
  readonly uuid: string | null

  constructor(uuid: string | null) {
    super('The key names another task.')
    this.uuid = uuid
  }
}

/** The creator of another door's tasks. No account has this number, so that no program reads them as its own. */
export const NO_ACCOUNT = -1

export type CreateParts = Pick<Desk, 'ledger' | 'tasks' | 'changes' | 'openTasks'>

export async function createTask(parts: CreateParts, asked: NewTask): Promise<CreateAnswer> {
  const { changes, ledger, tasks } = parts
  const uuid = newJobId()
  const quota = asked.accountId === NO_ACCOUNT ? null : await parts.openTasks.take(asked.accountId)
  let task: WholeTaskRow | null = null
  try {
    await changes.transact(async (tx) => {
      task = await insertTask(tx, uuid, asked)
      await nameTask(tx, ledger, asked, task.uuid)
      if (task.uuid !== uuid) return [repeated(task)]
      if (quota !== null) assertQuota(quota) // work that is open already is not refused
      await submitJob(tx, ledger, asked, task)
      return [created(task, asked.creator)]
    })
  } catch (error) {
    if (!(error instanceof NamedBefore)) throw error
    if (error.uuid === null) return refused('idempotency_conflict')
    task = await tasks.find(error.uuid)
  }
  if (task === null) throw new Error('A key names a task that is gone.')
  const isNew = task.uuid === uuid
  if (isNew) ledger.announce([DESK_KIND])
  return { ok: true, task, isNew }
}

async function insertTask(tx: Tx, uuid: string, asked: NewTask): Promise<WholeTaskRow> {
  const [task] = await tx.query<WholeTaskRow>(INSERT, [JSON.stringify([rowOf(uuid, asked)])])
  if (task === undefined) throw new Error('The task was not stored.')
  return task
}

async function nameTask(tx: Tx, ledger: Ledger, { idempotency }: NewTask, uuid: string): Promise<void> {
  if (idempotency === null) return
  const named = await ledger.nameIn(tx, idempotency, uuid)
  if (!named.ok) throw new NamedBefore(null)
  if (named.duplicate) throw new NamedBefore(named.jobId)
}

async function submitJob(tx: Tx, ledger: Ledger, asked: NewTask, task: WholeTaskRow): Promise<void> {
  const { accountId, trace, priority } = asked
  const callback = task.callback_url === null ? {} : { callback_url: task.callback_url }
  const asker = asked.askedBy === null ? {} : { asked_by: asked.askedBy }
  const payload: DeskPayload = { task_id: task.id, uuid: task.uuid, domain: task.domain, ...callback, ...asker }
  // A person may take as long as needed: a task is never buried for its number of attempts.
  await ledger.submitIn(tx, [
    { kind: DESK_KIND, jobId: task.uuid, payload, priority, accountId, trace, maxAttempts: null },
  ])
}

function rowOf(uuid: string, asked: NewTask) {
  const { page, proxy, question } = asked
  return {
    uuid,
    account_id: asked.accountId,
    url: page.url,
    domain: page.domain,
    challenge_type: asked.challengeType,
    error_message: asked.errorMessage,
    priority: asked.priority,
    proxy_id: proxy?.id ?? null,
    proxy_shown: proxy?.shown ?? null,
    user_agent: asked.userAgent,
    request_id: asked.requestId,
    metadata: asked.metadata,
    scrape_options: asked.scrapeOptions,
    callback_url: asked.callbackUrl,
    form: question?.form ?? null,
    images: question === null || question.images.length === 0 ? null : question.images,
    dup_key: asked.isShared ? sameWork(page.domain, proxy, asked.userAgent) : null,
  }
}

const sameWork = (domain: string, proxy: Proxy | null, userAgent: string | null): string =>
  createHash('sha256')
    .update(JSON.stringify([domain, proxy?.id ?? null, userAgent]))
    .digest('hex')
