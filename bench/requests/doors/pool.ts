import { generateKey, outputHash, signSubmission } from '@reeve/sdk/pool'
import type { Steps } from '../scene.ts'

const OUTPUT = { value: 42 }

export const poolSteps: Steps = async ({ ask }, count) => {
  const key = generateKey()
  const hash = outputHash(JSON.stringify(OUTPUT))
  const round = crypto.randomUUID()
  const workers: number[] = []
  for (let n = 0; n < count; n += 1) {
    const made = await ask<{ id: number }>('POST', '/workers/register', {
      body: { name: `worker ${n} of ${round}`, public_key: key.x },
    })
    workers.push(made.body.id)
  }
  const jobs: string[] = []
  const held: { assignment_id: number; nonce: string }[] = []
  return [
    {
      name: 'pool: `POST /v1/jobs`',
      async send(n) {
        const answer = await ask<{ job_id: string }>('POST', '/v1/jobs', { body: { payload: { n } } })
        jobs.push(answer.body.job_id)
        return answer
      },
    },
    {
      name: 'pool: `POST /jobs/poll`',
      async send(n) {
        const answer = await ask<(typeof held)[number]>('POST', '/jobs/poll', { body: { worker_id: workers[n] } })
        held.push(answer.body)
        return answer
      },
    },
    {
      name: 'pool: `POST /jobs/submit`, with the receipt',
      send(n) {
        const { assignment_id = 0, nonce = '' } = held[n] ?? {}
        const signature = signSubmission(key, { assignment_id, nonce, output_hash: hash })
        const own = { worker_id: workers[n], assignment_id, nonce, signature, output_hash: hash, output: OUTPUT }
        return ask('POST', '/jobs/submit', { body: { ...own, status: 'completed' } })
      },
    },
    { name: 'pool: `GET /v1/jobs/{id}`', send: (n) => ask('GET', `/v1/jobs/${jobs[n]}`) },
  ]
}
