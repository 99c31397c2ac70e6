// A statement of a pool. `pg` asks for a description of the columns at every execution, which PostgreSQL looks up and both sides write
// and read, and it hands each message of a statement to the socket by itself. Here the columns are asked for once per connection: they
// cannot change, because PostgreSQL refuses to execute a prepared statement whose columns have. From then on a statement is one write.
import { Query, types, type Connection } from 'pg'
import utils from 'pg/lib/utils.js'
import { serialize } from 'pg-protocol'
import type { Field } from 'pg-protocol/dist/messages.js'

const TEXT_OID = 25
/** Up to this size, Bind, Execute and Sync are copied into one buffer and written at once. */
const COPIED_BYTES_MAX = 16 * 1024
const EXECUTE_AND_SYNC = Buffer.concat([serialize.execute(), serialize.sync()])

const takeText = types.getTypeParser(TEXT_OID)

export type Row = Record<string, unknown>

interface Description {
  columns: readonly { name: string; parse: ((text: string) => unknown) | null }[]
  /** A row without its values: V8 copies it faster than it adds properties. */
  template: Readonly<Row>
}

const NO_COLUMNS: Description = { columns: [], template: {} }

/** By the name of the statement. */
const describedOn = new WeakMap<Connection, Map<string, Description>>()

export interface Call {
  /** Of the prepared statement: the same for the same text. */
  name: string
  text: string
  values: readonly unknown[]
  resolve(rows: Row[]): void
  reject(error: unknown): void
}

/** The methods are those that `pg` calls, and the public fields those that it reads. With a `query_timeout` it replaces `callback`. */
export class PreparedStatement {
  readonly name: string
  readonly text: string
  readonly values: (string | Buffer | null)[]
  readonly portal = ''
  callback: (error: unknown, rows: Row[]) => void
  readonly #rows: Row[] = []
  #described: Map<string, Description> | null = null
  #description: Description | undefined
  #failed: { error: unknown } | null = null

  /** Throws if a value cannot be sent: if that failed after Parse was sent, `pg` would take the statement for prepared. */
  constructor(call: Call) {
    this.name = call.name
    this.text = call.text
    this.values = call.values.map((value) => utils.prepareValue(value))
    this.callback = (error, rows) => (error === null ? call.resolve(rows) : call.reject(error))
  }

  submit(connection: Connection): unknown {
    this.#described = describedOn.get(connection) ?? new Map<string, Description>()
    this.#description = this.#described.get(this.name)
    if (this.#description !== undefined) return this.#send(connection)
    describedOn.set(connection, this.#described)
    return submitDescribed.call(this, connection)
  }

  #send({ stream }: Connection): null {
    const bound = serialize.bind({ statement: this.name, values: this.values })
    if (bound.length > COPIED_BYTES_MAX) {
      stream.write(bound)
      stream.write(EXECUTE_AND_SYNC)
    } else {
      stream.write(Buffer.concat([bound, EXECUTE_AND_SYNC]))
    }
    return null
  }

  handleRowDescription({ fields }: { fields: readonly Field[] }): void {
    this.#learn({
      columns: fields.map(({ name, dataTypeID }) => ({ name, parse: parserOf(dataTypeID) })),
      template: Object.fromEntries(fields.map(({ name }) => [name, null])),
    })
  }

  handleDataRow({ fields }: { fields: readonly (string | null)[] }): void {
    if (this.#failed !== null || this.#description === undefined) return
    try {
      this.#rows.push(rowOf(fields, this.#description))
    } catch (error) {
      this.#failed = { error }
    }
  }

  handleCommandComplete(): void {
    if (this.#description === undefined) this.#learn(NO_COLUMNS)
  }

  handleReadyForQuery(): void {
    this.callback(this.#failed?.error ?? null, this.#rows)
  }

  handleError(error: unknown): void {
    this.callback(error, [])
  }

  #learn(description: Description): void {
    this.#description = description
    this.#described?.set(this.name, description)
  }
}

// `pg` sends nothing through a pipelined connection but what is an instance of its class, whose constructor makes an event emitter and a
// result that nobody uses here: a third of the time to send a statement. This relies on parts that `pg` does not document, so package.json
// names its exact version.
Object.setPrototypeOf(PreparedStatement.prototype, Query.prototype)
const submitDescribed: (this: PreparedStatement, connection: Connection) => unknown = Query.prototype.submit

function parserOf(oid: number): ((text: string) => unknown) | null {
  const parse = types.getTypeParser(oid)
  return parse === takeText ? null : parse
}

function rowOf(fields: readonly (string | null)[], { columns, template }: Description): Row {
  const row: Row = { ...template }
  let index = 0
  for (const { name, parse } of columns) {
    const text = fields[index] ?? null
    row[name] = text === null || parse === null ? text : parse(text)
    index += 1
  }
  return row
}
