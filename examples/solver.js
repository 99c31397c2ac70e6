// A Solver in plain Node: verifies /solve, answers 202, solves, calls back signed. Keeps nothing over a restart.
import { createHash, createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import http from 'node:http'

const { SOLVER_SECRET = '', CHAL_SECRET = '', CHAL_KEY_ID = 'chal-kid-1', PORT = '9000' } = process.env
const seen = new Set()
const accepted = new Set()

const sign = (secret, path, ts, nonce, body) => {
  const hash = createHash('sha256').update(body).digest('hex')
  return createHmac('sha256', secret).update(`POST\n${path}\n${ts}\n${nonce}\n${hash}`).digest('hex')
}

function refusal(header, path, body) {
  if (header === undefined) return 'MISSING_AUTH'
  const found = /^RCS-HMAC-SHA256 keyId=[^,]+,ts=(\d+),nonce=([^,]+),sig=([0-9a-f]{64})$/.exec(header)
  if (found === null) return 'INVALID_AUTH'
  const [, ts, nonce, sig] = found
  if (seen.has(nonce)) return 'REPLAY_ATTACK'
  const isRight = timingSafeEqual(Buffer.from(sig), Buffer.from(sign(SOLVER_SECRET, path, ts, nonce, body)))
  if (!isRight || Math.abs(Date.now() / 1000 - ts) > 300) return 'INVALID_SIGNATURE'
  seen.add(nonce)
  return null
}

async function solve({ challenge_id, problem, callback_url }) {
  const answer = [...String(problem.text ?? '')].toReversed().join('')
  const solver_job_id = `solver_job_${challenge_id}`
  const body = JSON.stringify({ api_version: 'v2.1', challenge_id, solver_job_id, status: 'success', answer })
  const [ts, nonce, requestId] = [Math.floor(Date.now() / 1000), randomUUID(), randomUUID()]
  const sig = sign(CHAL_SECRET, new URL(callback_url).pathname, ts, nonce, body)
  const authorization = `RCS-HMAC-SHA256 keyId=${CHAL_KEY_ID},ts=${ts},nonce=${nonce},sig=${sig}`
  const headers = { 'content-type': 'application/json', 'x-request-id': requestId, authorization }
  await fetch(callback_url, { method: 'POST', headers, body })
}

const server = http.createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  const code = refusal(request.headers.authorization, request.url.split('?')[0], body)
  const answer = (status, value) => response.writeHead(status).end(JSON.stringify(value))
  if (code !== null) return answer(401, { error: { code, message: code, request_id: randomUUID() } })
  const asked = JSON.parse(body)
  const message = accepted.has(asked.challenge_id) ? 'Challenge already accepted' : 'Challenge accepted'
  answer(202, { message, solver_job_id: `solver_job_${asked.challenge_id}` })
  if (!accepted.has(asked.challenge_id)) solve(asked).catch((error) => process.stderr.write(`${error}\n`))
  accepted.add(asked.challenge_id)
})
server.listen(Number(PORT), '127.0.0.1', () => process.stdout.write(`listening on ${server.address().port}\n`))
