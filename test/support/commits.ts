// Reads PostgreSQL's protocol along with a proxy and tells of every commit that changed something, when the answer to it has left the
// server and has not reached its client.
import type { Tap } from './proxy.ts'

const WRITES = /\b(?:insert into|update|delete from)\s+(?!set\b|of\b)([a-z_]+)/g
const TYPE_BYTES = 1
const LENGTH_BYTES = 4

/** The tables that a committed transaction wrote to. False: the answer is lost. */
export type OnCommit = (tables: readonly string[]) => boolean

export function commitTap(onCommit: OnCommit): Tap {
  const texts = new Map<string, string>()
  const asked: string[] = [] // a text per answer that is due
  let bound = ''
  let tables: string[] = []
  let hasFailed = false
  let isLost = false

  const said = {
    /** Parse: a statement gets its name. */
    P: (body: Buffer) => {
      const [name = '', text = ''] = stringsOf(body)
      texts.set(name, text)
    },
    /** Bind: its portal, and the name of the statement. */
    B: (body: Buffer) => (bound = texts.get(stringsOf(body)[1] ?? '') ?? ''),
    /** Sync. */
    S: () => asked.push(bound),
    /** Simple query. */
    Q: (body: Buffer) => asked.push(stringsOf(body)[0] ?? ''),
  }
  const answered = {
    /** Command complete: a command and the number of its rows. */
    C: (body: Buffer) => {
      const tag = body.toString('utf8', 0, body.length - 1)
      if (tag === 'ROLLBACK') hasFailed = true
      if (!tag.endsWith(' 0')) tables.push(...tablesWritten(asked[0] ?? ''))
    },
    E: () => (hasFailed = true),
    /** Ready for the next query: outside a transaction, or inside one. */
    Z: (body: Buffer) => {
      asked.shift()
      if (body.toString() !== 'I') return
      if (!hasFailed && tables.length > 0 && !onCommit([...new Set(tables)])) isLost = true
      hasFailed = false
      tables = []
    },
  }

  const readSaid = messagesOf(said, { hasStartup: true })
  const readAnswered = messagesOf(answered, { hasStartup: false })
  return {
    toServer: readSaid,
    toClient(bytes) {
      readAnswered(bytes)
      return !isLost
    },
  }
}

const tablesWritten = (text: string): string[] => [...text.matchAll(WRITES)].map(([, table = '']) => table)

const stringsOf = (body: Buffer): string[] => body.toString('latin1').split('\0', 2)

type Handlers = Readonly<Record<string, (body: Buffer) => void>>

/** Messages may arrive in pieces. The first one of a client has no type. */
function messagesOf(handlers: Handlers, { hasStartup }: { hasStartup: boolean }): (bytes: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  let isStartup = hasStartup
  return (bytes) => {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes])
    for (;;) {
      const typeBytes = isStartup ? 0 : TYPE_BYTES
      if (rest.length < typeBytes + LENGTH_BYTES) return
      const end = typeBytes + rest.readUInt32BE(typeBytes)
      if (rest.length < end) return
      if (!isStartup) handlers[rest.toString('latin1', 0, TYPE_BYTES)]?.(rest.subarray(typeBytes + LENGTH_BYTES, end))
      isStartup = false
      rest = rest.subarray(end)
    }
  }
}
