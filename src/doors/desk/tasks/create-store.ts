// Creating a task: its row and its job in one transaction. Asked for again by the same creator while it is open, it is the
// same task, one attempt more, with the higher of the two priorities.
import { createHash } from 'node:crypto'
import type { Tx } from '../../../core/db/database.ts'
import { sendEffects } from '../../../core/ledger/effects.ts'
import type { Idempotency } from '../../../core/ledger/submit/submit.ts'
import { newJobId } from '../../../core/random.ts'
import { refused, type Refused } from '../../../core/outcome.ts'
import { audit } from '../changes/audit.ts'
import { afterOwnCommit, eventEffects, type Desk } from '../desk.ts'
import type { Page } from '../domains/domain.ts'
import { told } from '../changes/events.ts'
import { DESK_KIND, type DeskPayload } from '../changes/kind.ts'
import type { Proxy } from '../domains/proxies.ts'
import { COLUMNS, type Form, type Image, type WholeTaskRow } from './task.ts'

const INSERT = `
  insert into captcha_task as t (uuid, job_id, account_id, url, domain, challenge_type, error_message, priority, proxy_id,
         proxy_shown, user_agent, request_id, metadata, form, images, dup_key)
  select uuid, uuid, account_id, url, domain, challenge_type, error_message, priority, proxy_id, proxy_shown, user_agent,
         request_id, metadata, form, images, dup_key
    from json_to_recordset($1) as r (uuid uuid, account_id bigint, url text, domain text, challenge_type text,
         error_message text, priority integer, proxy_id text, proxy_shown text, user_agent text, request_id text,
         metadata json, form json, images json, dup_key text)
      on conflict (account_id, dup_key) where ended_at is null and dup_key is not null do update
     set attempts = t.attempts + 1, priority = greatest(t.priority, excluded.priority),
         error_message = coalesce(excluded.error_message, t.error_message), updated_at = clock_timestamp()
  returning ${COLUMNS}, t.solver_result, t.images`

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
  question: { form: Form; images: readonly Image[] } | null
  /** The same work twice is one task. A question, or a token that is good once, is new work each time. */
  isShared: boolean
  traceId: string | null
  idempotency: Idempotency | null
}

export type Created = { ok: true; task: WholeTaskRow; isNew: boolean } | Refused<'idempotency_conflict'>

/** Undoes the transaction: the key has named another task before, or (null) another body. */
class NamedBefore extends Error {
  override name = 'NamedBefore'
  readonly uuid: string | null

  constructor(uuid: string | null) {
    super('The key names another task.')
    this.uuid = uuid
  }
}

export async function createTask(desk: Desk, asked: NewTask): Promise<Created> {
  try {
    const created = await desk.database.transaction((tx) => createIn(tx, desk, asked))
    if (created.ok && created.isNew) {
      desk.ledger.announce([DESK_KIND])
      afterOwnCommit(desk, [told.created(created.task)])
      desk.mirror.waits(created.task)
      desk.counts.tasks.inc({ outcome: 'created' })
    }
    return created
  } catch (error) {
    if (!(error instanceof NamedBefore)) throw error
    if (error.uuid === null) return refused('idempotency_conflict')
    const task = await desk.tasks.find(error.uuid)
    if (task === null) throw new Error('A key names a task that is gone.', { cause: error })
    return { ok: true, task, isNew: false }
  }
}

async function createIn(tx: Tx, desk: Desk, asked: NewTask): Promise<Created> {
  const uuid = newJobId()
  const [task] = await tx.query<WholeTaskRow>(INSERT, [JSON.stringify([rowOf(uuid, asked)])])
  if (task === undefined) throw new Error('The task was not stored.')
  if (asked.idempotency !== null) {
    const named = await desk.ledger.nameIn(tx, asked.idempotency, task.uuid)
    if (!named.ok) throw new NamedBefore(null)
    if (named.duplicate) throw new NamedBefore(named.jobId)
  }
  if (task.uuid !== uuid) return { ok: true, task, isNew: false }

  const { accountId, traceId, priority } = asked
  const payload: DeskPayload = { task_id: task.id, uuid, domain: task.domain }
  // A person may take as long as it takes: a task is never buried for its number of attempts.
  await desk.ledger.submitIn(tx, [
    { kind: DESK_KIND, jobId: uuid, payload, priority, accountId, traceId, maxAttempts: null },
  ])
  await audit(tx, { action: 'created', actor: asked.creator, uuid })
  sendEffects(tx, eventEffects(desk, [told.created(task)]))
  return { ok: true, task, isNew: true }
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
    form: question?.form ?? null,
    images: question === null || question.images.length === 0 ? null : question.images,
    dup_key: asked.isShared ? sameWork(page.domain, proxy, asked.userAgent) : null,
  }
}

const sameWork = (domain: string, proxy: Proxy | null, userAgent: string | null): string =>
  createHash('sha256')
    .update(JSON.stringify([domain, proxy?.id ?? null, userAgent]))
    .digest('hex')
