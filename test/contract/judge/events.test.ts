// judge: a submission can be watched as it is judged, test by test, and from any moment on.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { WebSocket } from 'ws'
import { cannotTest } from '../../judge/rig.ts'
import { ReeveClient, type JudgeEvent } from '@reeve/sdk'
import { packageFiles, packageOf } from '../../support/zip.ts'
import { until } from '../../support/until.ts'
import { account, ask, judged, openClient, putProblem, setup, startServer, submit, TWICE } from './setup.ts'

const SLOW_TESTS = Object.fromEntries(
  Array.from({ length: 6 }, (_, n) => [
    [`data/secret/${n + 1}.in`, `${n + 1}\n`],
    [`data/secret/${n + 1}.ans`, `${2 * (n + 1)}\n`],
  ]).flat(),
)
/** Takes a tenth of a second for each test. */
const UNHURRIED = `#include <stdio.h>\n#include <time.h>\nint main(void) { int n; scanf("%d", &n); while (clock() < CLOCKS_PER_SEC / 10); printf("%d\\n", 2 * n); }\n`

const clientOf = (url: string, { authorization = '' }: Record<string, string>) =>
  new ReeveClient({ url, token: authorization.replace('Bearer ', '') })

async function collect(watching: AsyncIterable<JudgeEvent>): Promise<JudgeEvent[]> {
  const events: JudgeEvent[] = []
  for await (const event of watching) events.push(event)
  return events
}

describe('judge GET /status/{job_id}/events', { skip: cannotTest }, () => {
  test('judge 3.1: the stream has every test in order, then the verdict, and ends', async (t) => {
    const { url, ann } = await setup(t)
    await putProblem(url, 'long', packageOf(packageFiles(SLOW_TESTS)))
    const reeve = clientOf(url, ann)

    const { job_id: jobId } = await reeve.judge.submit({ problem_id: 'long', language: 'c', code: UNHURRIED })
    const events = await collect(reeve.judge.watch(jobId))
    const { tests } = await reeve.judge.status(jobId)

    const told = events.flatMap((event) => (event.type === 'test' ? [[event.name, event.verdict]] : []))
    assert.deepEqual(
      told,
      tests?.map(({ name, verdict }) => [name, verdict]),
    )
    assert.equal(events.at(-1)?.type, 'finished')
    assert(events.filter(({ type }) => type === 'running').length >= 1, 'it was told before it was over')
    assert(events.every((event) => event.attempt_id === 1))
  })

  test('judge 3.2: a late reader gets all events, a returning reader only the missing ones', async (t) => {
    const { url, ann } = await setup(t)
    const { body } = await submit(url, ann, { code: TWICE.accepted })
    await judged(url, ann, body.job_id)
    const path = `${url}/status/${body.job_id}/events`

    const all = await (await fetch(path, { headers: ann })).text()
    const lastId = /^id: (\d+)$/m.exec(all)?.[1] ?? ''
    const rest = await fetch(path, { headers: { ...ann, 'last-event-id': String(Number(lastId) - 1) } })

    assert.equal(all.match(/^event: test$/gm)?.length, 3)
    assert.equal(all.match(/^event: finished$/gm)?.length, 1)
    assert.match(rest.headers.get('content-type') ?? '', /^text\/event-stream/)
    assert.match(await rest.text(), /event: finished/)
  })

  test('judge 3.3: events contain no text of a test, not even of a sample', async (t) => {
    const { url, ann } = await setup(t)
    const { body } = await submit(url, ann, { code: TWICE.accepted })

    const text = await (await fetch(`${url}/status/${body.job_id}/events`, { headers: ann })).text()
    const data = [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json ?? ''))

    for (const one of data.filter(({ name }) => name !== undefined))
      assert.deepEqual(Object.keys(one).sort(), ['attempt_id', 'mem_kb', 'name', 'time_ms', 'verdict'])
  })

  test('judge 3.4: events are visible to whoever may see the status', async (t) => {
    const { url, ann } = await setup(t, { role: 'serve' })
    const { body } = await submit(url, ann, { code: TWICE.accepted })

    const bobs = await ask(`${url}/status/${body.job_id}/events`, { headers: await account(url, 'bob') })

    assert.deepEqual([bobs.status, bobs.body.code], [404, 'submission_not_found'])
    assert.equal((await ask(`${url}/status/${body.job_id}/events`)).status, 401)
  })

  test('judge 3.5: a submission that dies is reported as SE with its reason', async (t) => {
    const { url, ann } = await setup(t, { role: 'serve' })
    const reeve = clientOf(url, ann)
    const { job_id: jobId } = await reeve.judge.submit({ problem_id: 'twice', language: 'c', code: TWICE.accepted })

    const watching = collect(reeve.judge.watch(jobId))
    const admin = await account(url, 'root', ['ADMIN'])
    await ask(`${url}/admin/jobs/${jobId}/cancel`, { body: { reason: 'enough' }, headers: admin })

    const [finished] = await watching
    assert(finished?.type === 'finished')
    assert.deepEqual([finished.verdict, finished.reason], ['SE', 'enough'])
  })

  test('judge 3.7: the topic `submission` sends all events from the first one on, to its owner and admins', async (t) => {
    const { url, ann } = await setup(t)
    await putProblem(url, 'slow', packageOf(packageFiles(SLOW_TESTS)))
    const bob = await account(url, 'bob')
    const root = await account(url, 'root', ['ADMIN'])
    const { body } = await submit(url, ann, { problem_id: 'slow', code: UNHURRIED })
    await judged(url, ann, body.job_id)
    const follow = (who: Record<string, string>, params: object) =>
      new Promise<{ refused: string } | { types: string[]; tests: string[] }>((resolve) => {
        const live = clientOf(url, who).live({ WebSocket })
        const types: string[] = []
        const tests: string[] = []
        const end = (answer: { refused: string } | { types: string[]; tests: string[] }) => {
          live.close()
          resolve(answer)
        }
        live.follow({
          topic: 'submission',
          params,
          onMessage: ({ type, payload }) => {
            types.push(type)
            tests.push(...testsIn(payload))
            if (type === 'finished') end({ types, tests })
          },
          onRefused: (code) => end({ refused: code }),
        })
      })

    const owner = await follow(ann, { job_id: body.job_id })
    const admin = await follow(root, { job_id: body.job_id })

    assert('types' in owner)
    assert.deepEqual([...new Set(owner.types)], ['following', 'progress', 'finished'])
    assert.deepEqual(owner.tests, ['sample/1', ...Array.from({ length: 6 }, (_, n) => `secret/${n + 1}`)])
    assert.deepEqual(admin, owner)
    assert.deepEqual(await follow(bob, { job_id: body.job_id }), { refused: 'not_found' })
    assert.deepEqual(await follow(ann, { job_id: 'none' }), { refused: 'not_found' })
    assert.deepEqual(await follow(ann, { job_id: 1 }), { refused: 'invalid_params' })
  })

  test('judge 3.8: the topic `submissions` sends changed and new submissions of the caller; `all` is for admins', async (t) => {
    const { url, ann } = await setup(t)
    const bob = await account(url, 'bob')
    const root = await account(url, 'root', ['ADMIN'])
    const first = (await submit(url, ann, { code: TWICE.accepted })).body.job_id
    const follow = (who: Record<string, string>, params: object) => {
      const live = clientOf(url, who).live({ WebSocket })
      t.after(() => live.close())
      const heard: string[] = []
      live.follow({
        topic: 'submissions',
        params,
        onMessage: ({ type, payload }) =>
          type === 'following' ? following.add(heard) : heard.push(`${type} ${JSON.stringify(payload)}`),
        onRefused: (code) => heard.push(`refused ${code}`),
      })
      return heard
    }
    const following = new Set<string[]>()
    const own = follow(ann, { job_ids: [first] })
    const others = follow(bob, { job_ids: [first] })
    const all = follow(root, { job_ids: [first], all: true })
    const refusedAll = follow(bob, { job_ids: [], all: true })
    await until('it is in sight', () => own.some((text) => text.startsWith('newest')) && all.length > 0)
    await until('the others are answered', () => following.has(others) && refusedAll.length > 0)

    const second = (await submit(url, ann, { code: TWICE.accepted })).body.job_id
    await judged(url, ann, first)
    for (const heard of [own, all]) {
      await until('the end is told', () => heard.some((text) => text.includes(first) && text.includes('"done"')))
      await until('the new one is told', () => heard.includes(`newest {"job_id":"${second}"}`))
    }
    assert.deepEqual(others, [])
    assert.deepEqual(refusedAll, ['refused forbidden'])
  })

  test('judge 3.6: a client that disconnects leaves nothing behind, and a server that stops ends the stream', async (t) => {
    const server = await setup(t, { role: 'serve' })
    const { url, ann, at } = server
    const { body } = await submit(url, ann, { code: TWICE.accepted })
    const path = `${url}/status/${body.job_id}/events`
    const leaving = new AbortController()

    const left = await fetch(path, { headers: ann, signal: leaving.signal })
    leaving.abort()
    await assert.rejects(left.text())
    const staying = await fetch(path, { headers: ann })
    await server.stop()

    assert.match(await staying.text(), /^: watching/)
    const second = await startServer(t, { on: at, folder: server.folder })
    const client = await openClient(t, at)
    assert.equal((await judged(second.url, ann, body.job_id)).verdict, 'AC')
    const told = async () => (await client.query(`select from events where type = 'finished'`)).rowCount
    await until('the end is told', async () => (await told()) === 1)
  })
})

function testsIn(payload: unknown): string[] {
  if (typeof payload !== 'object' || payload === null || !('tests' in payload) || !Array.isArray(payload.tests))
    return []
  return payload.tests.map((test: unknown) =>
    typeof test === 'object' && test !== null && 'name' in test ? String(test.name) : '',
  )
}
