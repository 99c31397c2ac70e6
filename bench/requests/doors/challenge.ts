import { randomUUID } from 'node:crypto'
import { authorization } from '@reeve/sdk/challenge'
import type { AskOptions } from '../client.ts'
import type { Scene, Steps } from '../scene.ts'

export const SECRET = 'bench secret'

export const challengeSteps: Steps = async ({ ask, url }, count) => {
  const ids = Array.from({ length: 2 * count }, () => randomUUID())
  const create = (id: string | undefined) =>
    ask('POST', '/challenges', {
      body: {
        challenge_id: id,
        problem: { type: 'math', expression: '17*23' },
        validation_rule: { type: 'ExactMatch' },
        answer: '391',
      },
    })
  return [
    { name: 'challenge: `POST /challenges`', send: (n) => create(ids[n]) },
    {
      name: 'challenge: `POST /callback/{id}`',
      send(n) {
        const path = `/callback/${ids[n]}`
        const result = { challenge_id: ids[n], solver_job_id: 'job', status: 'success', answer: '391' }
        return ask('POST', path, signed(path, 'chal-kid-1', { api_version: 'v2.1', ...result }))
      },
    },
    { name: 'challenge: `GET /challenges/{id}`', send: (n) => ask('GET', `/challenges/${ids[n]}`) },
    {
      // The server is its own Challenger here: the callback is its request, too.
      name: 'challenge: `POST /solve`, until its callback is recorded',
      async send(n) {
        const id = ids[count + n]
        await create(id)
        const answer = await ask('POST', '/solve', solve(id, url))
        await completed(ask, id)
        return answer
      },
    },
  ]
}

const solve = (id: string | undefined, url: string): AskOptions =>
  signed('/solve', 'solver-kid-1', {
    api_version: 'v2.1',
    challenge_id: id,
    problem: { type: 'math', expression: '17*23' },
    output_spec: {},
    constraints: {},
    callback_url: `${url}/callback/${id}`,
  })

function signed(path: string, keyId: string, value: object): AskOptions {
  const body = JSON.stringify(value)
  const parts = { method: 'POST', path, ts: Math.floor(Date.now() / 1000), nonce: randomUUID(), body }
  return { body, authorization: authorization({ keyId, secret: SECRET }, parts) }
}

async function completed(ask: Scene['ask'], id: string | undefined): Promise<void> {
  for (;;) {
    const { body } = await ask<{ state: string }>('GET', `/challenges/${id}`, { headers: { prefer: 'wait=20' } })
    if (body.state === 'completed') return
  }
}
