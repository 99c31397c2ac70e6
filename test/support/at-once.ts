// Very many requests at the same moment, over few connections: all are written before the first is answered, and the server
// works on all of them side by side. (A connection for each would test how quickly this machine opens connections.)
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'

const PER_CONNECTION = 25

export interface Posted {
  path: string
  body: unknown
  headers: Readonly<Record<string, string>>
}

export interface Answered {
  status: number
  // oxlint-disable-next-line typescript/no-explicit-any -- a test reads what it expects, and fails where that is not there
  body: any
}

/** The answers in the order of the requests. */
export async function postAtOnce(url: string, requests: readonly Posted[]): Promise<Answered[]> {
  const shares: Posted[][] = []
  for (let at = 0; at < requests.length; at += PER_CONNECTION) shares.push(requests.slice(at, at + PER_CONNECTION))
  return (await Promise.all(shares.map((share) => postOver(new URL(url), share)))).flat()
}

async function postOver({ hostname, port }: URL, requests: readonly Posted[]): Promise<Answered[]> {
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(Buffer.concat(requests.map((request) => bytesOf(hostname, request))))
  const answers: Answered[] = []
  let rest = Buffer.alloc(0)
  for await (const chunk of socket) {
    rest = Buffer.concat([rest, Buffer.from(chunk)])
    for (let next = answerIn(rest); next !== null; next = answerIn(rest)) {
      answers.push(next.answer)
      rest = rest.subarray(next.bytes)
    }
    if (answers.length === requests.length) break // closes it
  }
  assert.equal(answers.length, requests.length, 'the server hung up')
  return answers
}

function bytesOf(host: string, { path, body, headers }: Posted): Buffer {
  const content = Buffer.from(JSON.stringify(body))
  const all = { host, 'content-type': 'application/json', 'content-length': String(content.length), ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return Buffer.concat([Buffer.from(`POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n`), content])
}

/** The first whole answer of what has arrived. */
function answerIn(bytes: Buffer): { answer: Answered; bytes: number } | null {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd < 0) return null
  const head = bytes.subarray(0, headEnd).toString()
  const length = Number(/^content-length: (\d+)/im.exec(head)?.[1] ?? assert.fail(`no length: ${head}`))
  const end = headEnd + 4 + length
  if (bytes.length < end) return null
  const status = Number(head.split(' ')[1])
  return { answer: { status, body: JSON.parse(bytes.subarray(headEnd + 4, end).toString()) }, bytes: end }
}
