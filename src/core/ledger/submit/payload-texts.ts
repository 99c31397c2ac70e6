// The payloads of many jobs as one parameter, a JSON array. A large payload is written in several turns of the event loop. That is
// done before a transaction begins: within one, a busy process would hold its locks for all these turns, and PostgreSQL ends a
// session that is idle in a transaction for seconds.
import { storableJson, storableJsonInTurns } from '../../db/params.ts'
import { LARGE_BYTES } from '../../values/json-pieces.ts'
import type { PreparedJob } from './submit.ts'

/** By job id. */
export type PayloadTexts = ReadonlyMap<string, string | Buffer>

/** Of jobs whose payloads are large together. */
export async function writeLargePayloads(jobs: readonly PreparedJob[]): Promise<PayloadTexts> {
  const texts = new Map<string, string | Buffer>()
  const bytes = jobs.reduce((sum, { payloadBytes }) => sum + payloadBytes, 0)
  if (bytes <= LARGE_BYTES) return texts
  for (const { jobId, payload, payloadBytes } of jobs) {
    if (payloadBytes > 0) texts.set(jobId, await storableJsonInTurns(payload ?? null, bytes))
  }
  return texts
}

export function payloadsParam(jobs: readonly PreparedJob[], written: PayloadTexts): string | Buffer {
  if (written.size === 0) return storableJson(jobs.map(({ payload }) => payload ?? null))
  const texts = jobs.map(({ jobId, payload }) => written.get(jobId) ?? storableJson(payload ?? null))
  return Buffer.concat(
    texts.flatMap((text, index) => [Buffer.from(index === 0 ? '[' : ','), Buffer.from(text)]).concat(END),
  )
}

const END = Buffer.from(']')
