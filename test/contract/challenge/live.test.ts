import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReeveClient } from '@reeve/sdk'
import { WebSocket } from 'ws'
import { newAccount } from '../../support/reeve.ts'
import { until } from '../../support/until.ts'
import { startReceiver, startServer } from './setup.ts'

const NEW = { problem: { type: 'text', text: 'a' }, validation_rule: { type: 'ExactMatch' }, answer: 'A' } as const

test('challenge 6.14: /live tells the owner of a challenge, and nobody else, what changed', async (t) => {
  const solver = await startReceiver(t, [202, 202])
  const { url } = await startServer(t, {
    env: { PUBLIC_CALLBACK_HOST: 'http://127.0.0.1:1', SOLVER_URL: solver.url },
  })
  const { token } = await newAccount(url, 'owner', ['CHALLENGER'])
  const owner = new ReeveClient({ url, token })
  const other = new ReeveClient({ url, token: (await newAccount(url, 'other', ['CHALLENGER'])).token })
  await owner.challenges.create({ ...NEW, challenge_id: 'mine' })
  await other.challenges.create({ ...NEW, challenge_id: 'theirs' })
  const live = owner.live({ WebSocket })
  t.after(() => live.close())
  const seen: string[] = []
  const newest: string[] = []
  const refused: string[] = []
  live.follow({
    topic: 'challenges',
    params: { challenge_ids: ['mine', 'theirs', 'nobody’s'] },
    onMessage: ({ type, payload }) => {
      if (type === 'changed') seen.push(JSON.stringify(payload))
      if (type === 'newest') newest.push(JSON.stringify(payload))
    },
  })
  const tooMany = Array.from({ length: 201 }, (_, index) => `c${index}`)
  live.follow({
    topic: 'challenges',
    params: { challenge_ids: tooMany },
    onMessage: () => {},
    onRefused: (code) => refused.push(code),
  })

  await until('it is in sight', () => seen.length > 0)
  await other.challenges.send('theirs')
  await owner.challenges.send('mine')
  await until('it was accepted', () => seen.some((text) => text.includes('"accepted"')))

  await owner.challenges.create({ ...NEW, challenge_id: 'another' })
  await until('the newest was told', () => newest.length > 1)

  assert.deepEqual(newest, ['{"challenge_id":"mine"}', '{"challenge_id":"another"}'])
  assert.match(seen[0] ?? '', /"challenge_id":"mine","state":"created"/)
  assert(seen.every((text) => !text.includes('theirs') && !text.includes('"answer"')))
  assert.deepEqual(refused, ['invalid_params'])
})
