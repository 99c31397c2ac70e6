// What a line of mail means, and what is done about it. Nodes write these to each other and to nobody else, so that a line
// that makes no sense is one of another version, and is left alone.
//
//   start MATCH                                        take this match: it was paired for you
//   hello SESSION NODE USERS GREETINGS                 these players of yours are in this session of mine
//   attach SESSION NODE USER                           this player (0: somebody who watches) is here
//   detach SESSION NODE                                nobody is here any more
//   event SESSION TEXT                                 for all here who hear of the session
//   over SESSION USERS TEXT                            the same, and it was the last
//   unknown SESSION                                    I do not run that session
//   input SESSION NODE CLIENT USER SEQ SEQUENCE TICK DELTA
//   refuse CLIENT SEQ CODE                             what is wrong with an input
//   timeout USERS                                      to all: these have waited in vain
//   look                                               to all: a node has given its matches back
import type { Sessions } from '../engine/sessions.ts'
import { isSocketError, type SocketError } from '../errors.ts'
import type { Players } from '../sockets/players.ts'
import { errorText } from '../wire.ts'
import type { Remotes } from './remotes.ts'

export interface ExchangeDeps {
  players: Players
  sessions: Sessions
  remotes: Remotes
  post(node: string, line: string): void
  onStart(matchId: string): void
  onLook(): void
}

export function openExchange(deps: ExchangeDeps): (line: string) => void {
  const { players, sessions, remotes, post } = deps

  const refuse = (clientId: number, seq: number, code: SocketError): void => {
    const client = players.client(clientId)
    client?.send(errorText(code, client.language, seq))
  }

  const handlers: Readonly<Record<string, (rest: string) => void>> = {
    start: (matchId) => deps.onStart(matchId),
    hello(rest) {
      const [[sessionId, node, users], greetings] = words(rest, 3)
      remotes.onHello(sessionId, node, numbers(users), textsFrom(greetings))
    },
    attach(rest) {
      const [[sessionId, node, user]] = words(rest, 3)
      const session = sessions.get(sessionId)
      const userId = Number(user)
      if (session === undefined) post(node, `unknown ${sessionId}`)
      else session.outposts.attach(node, userId === 0 ? null : userId, performance.now())
    },
    detach(rest) {
      const [[sessionId, node]] = words(rest, 2)
      sessions.get(sessionId)?.outposts.detach(node)
    },
    event(rest) {
      const [[sessionId], text] = words(rest, 1)
      remotes.onEvent(sessionId, text)
    },
    over(rest) {
      const [[sessionId, users], text] = words(rest, 2)
      remotes.onOver(sessionId, numbers(users), text)
    },
    unknown: (sessionId) => remotes.onUnknown(sessionId),
    input(rest) {
      const [[sessionId, node, client, user, seq, sequence, targetTick, delta]] = words(rest, 8)
      const session = sessions.get(sessionId)
      if (session === undefined) post(node, `unknown ${sessionId}`)
      const input = { sequence: Number(sequence), targetTick: Number(targetTick), delta: Number(delta) }
      const wrong = session === undefined ? 'session_not_found' : session.inputOf(Number(user), input)
      if (wrong !== null) post(node, `refuse ${client} ${seq} ${wrong}`)
    },
    refuse(rest) {
      const [[client, seq, code]] = words(rest, 3)
      if (isSocketError(code)) refuse(Number(client), Number(seq), code)
    },
    timeout(rest) {
      for (const userId of numbers(rest)) {
        for (const client of players.clientsOf(userId)) client.send(errorText('queue_timeout', client.language))
      }
    },
    look: () => deps.onLook(),
  }

  return (line) => {
    const [[what], rest] = words(line, 1)
    if (Object.hasOwn(handlers, what)) handlers[what]?.(rest)
  }
}

/** The first words of a line, and all that follows them. Missing ones are empty. */
function words(line: string, count: 1): [[string], string]
function words(line: string, count: 2): [[string, string], string]
function words(line: string, count: 3): [[string, string, string], string]
function words(line: string, count: 8): [[string, string, string, string, string, string, string, string], string]
function words(line: string, count: number): [string[], string] {
  const found: string[] = []
  let at = 0
  while (found.length < count) {
    const end = line.indexOf(' ', at)
    found.push(line.slice(at, end === -1 ? line.length : end))
    at = end === -1 ? line.length : end + 1
  }
  return [found, line.slice(at)]
}

const numbers = (text: string): number[] => text.split(',').map(Number).filter(Number.isSafeInteger)

function textsFrom(json: string): string[] {
  const value: unknown = JSON.parse(json)
  return Array.isArray(value) ? value.map(String) : []
}
