// Speaks as an existing Challenger of this protocol does to its Solver, over HTTP only.
import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import http from 'node:http'
import { join } from 'node:path'
import { describe, test, type TestContext } from 'node:test'
import {
  account,
  get,
  post,
  postSigned,
  solveBody,
  startReceiver,
  startServer,
} from '../../contract/challenge/setup.ts'
import { temporaryFolder } from '../../support/servers.ts'
import { until } from '../../support/until.ts'
import { listen } from '../../support/listen.ts'

async function solvedBy(t: TestContext, env: Record<string, string>, problems: Record<string, object>) {
  const receiver = await startReceiver(t)
  const { url } = await startServer(t, { env })
  for (const [id, problem] of Object.entries(problems)) {
    const body = solveBody(id, `${receiver.url}/callback/${id}`, {
      problem,
      constraints: { timeout_ms: 0, deadline_ts: 0 },
    })
    assert.equal((await postSigned(url, '/solve', body)).status, 202)
  }
  await until('all callbacks came', () => receiver.received.length === Object.keys(problems).length)
  return Object.fromEntries(
    receiver.received.map(({ body }) => {
      const callback = JSON.parse(body)
      return [callback.challenge_id, callback.answer ?? callback.error_code]
    }),
  )
}

describe('an existing Challenger’s problems', () => {
  test('math with an operation has two decimals, and text without one is upper case', async (t) => {
    const math = (operation: string, a: unknown, b: unknown) => ({ type: 'math', operation, a, b })

    const answers = await solvedBy(
      t,
      {},
      {
        add: math('add', 0.1, 0.2),
        subtract: math('subtract', 5, 7.5),
        multiply: math('multiply', 1e21, 2),
        divide: math('divide', 10, 3),
        zero: math('divide', 1, 0),
        odd: math('power', 1, 1),
        words: math('add', '1', 2),
        text: { type: 'text', text: 'straße' },
      },
    )

    assert.deepEqual(answers, {
      add: '0.30',
      subtract: '-2.50',
      multiply: '2000000000000000000000.00',
      divide: '3.33',
      zero: 'DIVISION_BY_ZERO',
      odd: 'INVALID_PROBLEM',
      words: 'INVALID_PROBLEM',
      text: 'STRASSE',
    })
  })

  test('a plug-in may take over a built-in type', async (t) => {
    const file = join(await temporaryFolder(t), 'solvers.mjs')
    await writeFile(file, `export const solvers = { text: ({ text }) => 'mine: ' + text, captcha: () => 'seen' }`)

    const answers = await solvedBy(
      t,
      { SOLVER_PLUGINS: file },
      {
        text: { type: 'text', text: 'a' },
        captcha: { type: 'captcha', data: 'aGk=', description: 'What is it?' },
        math: { type: 'math', expression: '1+1' },
      },
    )

    assert.deepEqual(answers, { text: 'mine: a', captcha: 'seen', math: '2' })
  })
})

/** Forwards /base/… as /…, as a proxy in front of a server does. */
async function strippingProxy(t: TestContext, target: () => string): Promise<string> {
  const server = http.createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { host: _host, connection: _connection, ...headers } = request.headers
    const sent = http.request(`${target()}${(request.url ?? '').replace(/^\/base/, '')}`, { method: 'POST', headers })
    sent.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers)
      answer.pipe(response)
    })
    sent.on('error', () => response.destroy())
    sent.end(Buffer.concat(chunks))
  })
  const port = await listen(t, server)
  return `http://127.0.0.1:${port}/base`
}

describe('a proxy that strips a prefix', () => {
  test('a challenge and its callback verify through SOLVER_URL and PUBLIC_CALLBACK_HOST with a path', async (t) => {
    let url = ''
    const base = await strippingProxy(t, () => url)
    const server = await startServer(t, { env: { SOLVER_URL: base, PUBLIC_CALLBACK_HOST: base } })
    url = server.url
    const owner = await account(url, 'owner')
    const challenge = {
      challenge_id: 'c1',
      problem: { type: 'text', text: 'a' },
      validation_rule: { type: 'ExactMatch' },
      answer: 'A',
    }
    await post(`${url}/challenges`, JSON.stringify(challenge), owner)

    await post(`${url}/challenges/c1/send`, '{}', owner)
    const show = async () => (await get(`${url}/challenges/c1`, owner)).body
    await until('the answer came back', async () => (await show()).state === 'completed')
    await until('the delivery is logged', async () => (await show()).deliveries.length > 0) // after its answer, while the solver works

    const { results, deliveries } = await show()
    assert.deepEqual([results[0].is_correct, deliveries[0].status_code], [true, 202])
  })
})
