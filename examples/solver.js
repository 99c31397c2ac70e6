// A Solver in plain Node: verifies /solve, answers 202, solves, calls back signed. Keeps nothing over a restart.
import { createHash, createHmac, randomUUID, timingSafeEqual } from 'node:crypto'
import http from 'node:http'

const { SOLVER_SECRET = '', CHAL_SECRET = '', CHAL_KEY_ID = 'chal-kid-1', PORT = '9000' } = process.env
const HEADER = /^RCS-HMAC-SHA256 keyId=[^,]+,ts=(\d+),nonce=([^,]+),sig=([0-9a-f]{64})$/
const [nonces, accepted] = [new Set(), new Set()]

const sign = (secret, path, ts, nonce, body) => {
  const hash = createHash('sha256').update(body).digest('hex')
  return createHmac('sha256', secret).update(`POST\n${path}\n${ts}\n${nonce}\n${hash}`).digest('hex')
}

function refusal(header, path, body) {
  if (header === undefined) return 'MISSING_AUTH'
  const [, ts, nonce, sig] = HEADER.exec(header) ?? []
  if (sig === undefined) return 'INVALID_AUTH'
  if (nonces.has(nonce)) return 'REPLAY_ATTACK'
  const isRight = timingSafeEqual(Buffer.from(sig), Buffer.from(sign(SOLVER_SECRET, path, ts, nonce, body)))
  if (!isRight || Math.abs(Date.now() / 1000 - ts) > 300) return 'INVALID_SIGNATURE'
  nonces.add(nonce)
}

async function solve({ challenge_id, problem, callback_url }, solver_job_id) {
  const answer = [...String(problem.text ?? '')].toReversed().join('')
  const body = JSON.stringify({ api_version: 'v2.1', challenge_id, solver_job_id, status: 'success', answer })
  const [ts, nonce] = [Math.floor(Date.now() / 1000), randomUUID()]
  const sig = sign(CHAL_SECRET, new URL(callback_url).pathname, ts, nonce, body)
  const authorization = `RCS-HMAC-SHA256 keyId=${CHAL_KEY_ID},ts=${ts},nonce=${nonce},sig=${sig}`
  await fetch(callback_url, { method: 'POST', headers: { authorization, 'x-request-id': randomUUID() }, body })
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
