// Workers and clients that do nothing but the protocol.
import { generateKey, outputHash, signSubmission, type PrivateKey } from '@reeve/sdk/pool'
import { nowUs } from '../clock.ts'
import type { Account, Reeve } from './server.ts'

const WAIT = { prefer: 'wait=50' }
const OUTPUT = { ok: true }
const OUTPUT_HASH = outputHash(JSON.stringify(OUTPUT))

export interface BenchWorker {
  id: number
  by: Account
  key: PrivateKey
}

export interface Assigned {
  assignment_id: number
  nonce: string
  job: { sentUs?: number }
}

/** One key for all: making thousands of them is not what is measured. */
export async function registerWorkers(reeve: Reeve, by: Account, names: readonly string[]): Promise<BenchWorker[]> {
  const key = generateKey()
  const workers: BenchWorker[] = []
  const waiting = [...names]
  const register = async () => {
    for (let name = waiting.shift(); name !== undefined; name = waiting.shift()) {
      const made = await reeve.http.post<{ id: number }>('/workers/register', { name, public_key: key.x }, { ...by })
      if (made.status !== 201) throw new Error(`register: ${made.status}`)
      workers.push({ id: made.body.id, by, key })
    }
  }
  await Promise.all(Array.from({ length: 50 }, register))
  return workers
}

/** The assignment, and when it arrived; null: there was none in time. */
export async function poll({ http }: Reeve, worker: BenchWorker): Promise<{ assigned: Assigned; atUs: number } | null> {
  const { status, body } = await http.post<Assigned>('/jobs/poll', { worker_id: worker.id }, { ...worker.by, ...WAIT })
  return status === 200 ? { assigned: body, atUs: nowUs() } : null
}

export async function submit({ http }: Reeve, { id, by, key }: BenchWorker, assigned: Assigned): Promise<void> {
  const { assignment_id, nonce } = assigned
  const signature = signSubmission(key, { assignment_id, nonce, output_hash: OUTPUT_HASH })
  const body = { worker_id: id, assignment_id, nonce, signature, output: OUTPUT, output_hash: OUTPUT_HASH }
  const { status } = await http.post('/jobs/submit', body, { ...by })
  if (status !== 200 && status !== 409) throw new Error(`submit: ${status}`)
}

/** Submits a job and waits until its result is there. */
export async function cycle({ http }: Reeve, client: Account, more: object = {}): Promise<void> {
  const body = { payload: { sentUs: nowUs() }, ...more }
  const { status } = await http.post('/v1/jobs', body, { ...client, ...WAIT })
  if (status !== 200) throw new Error(`cycle: ${status}`)
}
