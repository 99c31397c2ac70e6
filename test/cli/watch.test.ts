// A connection that breaks while a submission is watched. The server here breaks it after every test; the client asks for what came
// since the last event, and misses and repeats nothing.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { test, type TestContext } from 'node:test'
import { ReeveClient } from '@reeve/sdk'
import { atEnd } from '../support/cleanup.ts'
import { temporaryFolder } from '../support/servers.ts'
import { reeve } from './reeve-command.ts'

const JOB = '0190a000-0000-7000-8000-000000000000'
const USED = { time_ms: 1, mem_kb: 1024 }
const EVENTS = [
  { type: 'running', attempt_id: 1, tests: 3 },
  ...['1', '2', '3'].map((name) => ({ type: 'test', attempt_id: 1, name, verdict: 'AC', ...USED })),
  { type: 'finished', attempt_id: 1, verdict: 'AC', status_text: 'Accepted', ...USED },
]
const JUDGED = {
  job_id: JOB,
  status: 'FINISHED',
  verdict: 'AC',
  status_text: 'Accepted',
  score: null,
  ...USED,
  tests: EVENTS.slice(1, 4),
}

/** `brokenBy`: how a connection ends after each event. */
async function startBreaking(t: TestContext, brokenBy: 'reset' | 'end') {
  const since: (string | undefined)[] = []
  const answer = (reply: ServerResponse, status: number, body: object) =>
    reply.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  const server = createServer((request: IncomingMessage, reply) => {
    if (request.method === 'POST') return answer(reply, 202, { job_id: JOB, status: 'PENDING' })
    if (request.url !== `/status/${JOB}/events`) return answer(reply, 200, JUDGED)
    const after = request.headers['last-event-id']
    since.push(after === undefined ? undefined : String(after))
    if (since.length === 2) return answer(reply, 503, { error: { code: 'unavailable', message: 'restarting' } })
    const next = Number(after ?? 0)
    const { type, ...data } = EVENTS[next] ?? assert.fail('nothing is left to tell')
    const text = `id: ${next + 1}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`
    reply.writeHead(200, { 'content-type': 'text/event-stream' })
    reply.write(text, () => (brokenBy === 'end' ? reply.end() : reply.socket?.resetAndDestroy()))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  atEnd(t, () => server.close())
  const address = server.address()
  assert(address !== null && typeof address === 'object')
  return { url: `http://127.0.0.1:${address.port}`, since }
}

for (const brokenBy of ['reset', 'end'] as const) {
  test(`judge.watch continues after the last event when its connection breaks (${brokenBy})`, async (t) => {
    const { url, since } = await startBreaking(t, brokenBy)

    const seen: string[] = []
    for await (const event of new ReeveClient({ url, token: 'any' }).judge.watch(JOB)) seen.push(event.type)

    assert.deepEqual(seen, ['running', 'test', 'test', 'test', 'finished'])
    assert.deepEqual(since, [undefined, '1', '1', '2', '3', '4'])
  })
}

test('reeve submit --wait prints every test once although its connection breaks after each', async (t) => {
  const { url } = await startBreaking(t, 'reset')
  const folder = await temporaryFolder(t)
  await writeFile(`${folder}/key`, 'any key')
  await writeFile(`${folder}/main.c`, 'int main(void) { return 0; }')

  const args = ['submit', `${folder}/main.c`, '--language', 'c17', '--problem', 'sum', '--wait']
  const { code, stdout, stderr } = await reeve([...args, '--url', url, '--api-key-file', `${folder}/key`])

  assert.equal(code, 0, stderr)
  const tests = stdout.split('\n').flatMap((line) => /^(\d) +AC /.exec(line)?.[1] ?? [])
  assert.deepEqual(tests, ['1', '2', '3'], stdout)
})
