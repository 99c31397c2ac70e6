// A Solver in plain Node: verifies /solve, answers 202, solves, and calls back, signed, with retries. It keeps nothing over a
// restart.
import { createHash, createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const { SOLVER_SECRET = '', CHAL_SECRET = '', CHAL_KEY_ID = 'chal-kid-1', PORT = '9000' } = process.env
const HEADER = /^RCS-HMAC-SHA256 keyId=[^,]+,ts=(\d+),nonce=([^,]+),sig=([0-9a-f]{64})$/
const WAITS_MS = [500, 1000, 2000, 4000, 8000]
const [nonces, accepted] = [new Set(), new Set()]

/** Problem types and their solvers: add yours here. */
const SOLVERS = { text: ({ text = '' }) => [...String(text)].toReversed().join('') }

function sign(secret, path, ts, nonce, body) {
  const hash = createHash('sha256').update(body).digest('hex')
  return createHmac('sha256', secret).update(`POST\n${path}\n${ts}\n${nonce}\n${hash}`).digest('hex')
}

/** The signed path is the suffix /solve or /callback/{challenge_id}: a proxy may strip a prefix. */
const signedPath = (path) => /\/(solve|callback\/[^/]+)$/.exec(path)?.[0] ?? path

function refusal(header, path, body) {
  if (header === undefined) return 'MISSING_AUTH'
  const [, ts, nonce, sig] = HEADER.exec(header) ?? []
  if (sig === undefined) return 'INVALID_AUTH'
  if (nonces.has(nonce)) return 'REPLAY_ATTACK'
  const expected = sign(SOLVER_SECRET, signedPath(path), ts, nonce, body)
  const isRight = timingSafeEqual(Buffer.from(sig), Buffer.from(expected))
  if (!isRight || Math.abs(Date.now() / 1000 - ts) > 300) return 'INVALID_SIGNATURE'
  nonces.add(nonce)
}

function outcomeOf(problem) {
  const solver = Object.hasOwn(SOLVERS, problem?.type) ? SOLVERS[problem.type] : null
  if (solver !== null) return { status: 'success', answer: solver(problem) }
  const error_message = `type must be one of ${Object.keys(SOLVERS).join(', ')}.`
  return { status: 'failed', error_code: 'UNSUPPORTED_PROBLEM', error_message }
}

async function solve({ challenge_id, problem, callback_url }, solver_job_id) {
  const body = JSON.stringify({ api_version: 'v2.1', challenge_id, solver_job_id, ...outcomeOf(problem) })
  const requestId = randomUUID() // one for all attempts: the Challenger recognises a repetition
  for (const waitMs of [...WAITS_MS, null]) {
    const status = await callBack(callback_url, requestId, body).catch(() => null)
    const mayHelp = status === null || status === 429 || status >= 500
    if (!mayHelp || waitMs === null) return status
    await sleep(waitMs * (0.85 + 0.3 * Math.random()))
  }
}

async function callBack(url, requestId, body) {
  const [ts, nonce] = [Math.floor(Date.now() / 1000), randomUUID()]
  const sig = sign(CHAL_SECRET, signedPath(new URL(url).pathname), ts, nonce, body)
  const authorization = `RCS-HMAC-SHA256 keyId=${CHAL_KEY_ID},ts=${ts},nonce=${nonce},sig=${sig}`
  const headers = { 'content-type': 'application/json', authorization, 'x-request-id': requestId }
  const signal = AbortSignal.timeout(10_000)
  return (await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal })).status
}

async function handle(request, response) {
  const body = Buffer.concat(await request.toArray())
  const answer = (status, value) => response.writeHead(status).end(JSON.stringify(value))
  const code = refusal(request.headers.authorization, request.url.split('?')[0], body)
  if (code) return answer(401, { error: { code, message: code, request_id: randomUUID() } })
  const asked = JSON.parse(body)
  const [isNew, jobId] = [!accepted.has(asked.challenge_id), `solver_job_${asked.challenge_id}`]
  accepted.add(asked.challenge_id)
  answer(202, { message: `Challenge ${isNew ? '' : 'already '}accepted`, solver_job_id: jobId })
  if (isNew) solve(asked, jobId).catch((error) => process.stderr.write(`${error}\n`))
}

const server = http.createServer((request, response) => handle(request, response).catch(() => response.destroy()))
server.listen(Number(PORT), '127.0.0.1', () => process.stdout.write(`listening on ${server.address().port}\n`))
