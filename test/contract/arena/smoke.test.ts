import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ask, matched, QUICK, startServer } from './setup.ts'

test('smoke', async (t) => {
  const { url } = await startServer(t, { env: { ...QUICK, LOG_LEVEL: 'warn' } })
  const { annLine, bobLine, sessionId, ann } = await matched(t, url)
  annLine.send('session.input', { sessionId, sequence: 1, targetTick: 3, delta: 2 }, 7)
  const ended = await annLine.event('session.ended')
  console.log(JSON.stringify(annLine.messages.slice(0, 3)), JSON.stringify(ended))
  await bobLine.event('session.ended')
  console.log((await ask(url, '/api/profile', { token: ann.token })).body)
  console.log(JSON.stringify((await ask(url, '/api/leaderboard')).body))
  console.log(JSON.stringify((await ask(url, `/api/matches/${sessionId}`, { token: ann.token })).body))
  console.log(JSON.stringify((await ask(url, `/api/matches`, { token: ann.token })).body))
  console.log(JSON.stringify((await ask(url, `/api/profile/ratings`, { token: ann.token })).body))
  console.log(JSON.stringify((await ask(url, `/metrics`)).body))
  assert(true)
})
