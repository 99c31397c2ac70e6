import type { Steps } from '../scene.ts'

const TASKS = '/api/v1/captcha/tasks'

export const deskSteps: Steps = async ({ ask, account }) => {
  const ids: string[] = []
  return [
    {
      name: 'desk: `POST /tasks`',
      async send(n) {
        const body = { url: `https://shop-${n}.example/`, challenge_type: 'turnstile' } // one open task per domain
        const answer = await ask<{ uuid: string }>('POST', TASKS, { body })
        ids.push(answer.body.uuid)
        return answer
      },
    },
    {
      name: 'desk: `POST /tasks/{uuid}/assign`',
      send: (n) => ask('POST', `${TASKS}/${ids[n]}/assign`, { body: { operator_id: account.username } }),
    },
    {
      name: 'desk: `POST /tasks/{uuid}/solve`',
      send: (n) =>
        ask('POST', `${TASKS}/${ids[n]}/solve`, { body: { type: 'token', payload: `the solution of ${n}` } }),
    },
    { name: 'desk: `GET /tasks/{uuid}`', send: (n) => ask('GET', `${TASKS}/${ids[n]}`) },
    { name: 'desk: `GET /tasks/pending`', send: () => ask('GET', `${TASKS}/pending`) },
  ]
}
