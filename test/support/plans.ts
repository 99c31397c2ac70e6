// What prepared statements look at: with a plan made on empty tables, with that plan when the tables are full, and with one made
// then. The hot connections keep a plan for as long as they live.
import assert from 'node:assert/strict'
import { escapeLiteral } from 'pg'
import type { Database, Pool, Queryable, Tx } from '../../src/core/db/database.ts'

export interface Statement {
  sql: string
  params: readonly unknown[]
}

export interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}

export interface Scan {
  when: 'empty' | 'kept' | 'fresh'
  sql: string
  node: string
  rows: number
}

interface ScanOptions {
  fill: string
  tables: readonly string[]
  analyzed?: boolean
}

/**
 * Scans of these tables by each statement. The tables are empty when it is called. `analyzed`: the planner knows that, and no
 * longer guesses that an empty table will not stay so.
 */
export async function scansOf(
  database: Database,
  statements: readonly Statement[],
  { fill, tables, analyzed = false }: ScanOptions,
): Promise<Scan[]> {
  if (analyzed) await database.transaction((other) => other.script('analyze'))
  return database.hot.transaction(async (tx) => {
    await tx.script('set local idle_in_transaction_session_timeout = 0') // filling the tables may take a while
    for (const [index, { sql }] of statements.entries()) await tx.script(`prepare s${index} as ${sql}`)
    const empty = await look(tx, statements, 'empty', tables)
    await database.transaction((other) => other.script(fill))
    const kept = await look(tx, statements, 'kept', tables)
    await database.transaction((other) => other.script('analyze'))
    return [...empty, ...kept, ...(await look(tx, statements, 'fresh', tables))]
  })
}

/** Nothing of what they do is kept. */
async function look(
  tx: Tx,
  statements: readonly Statement[],
  when: Scan['when'],
  tables: readonly string[],
): Promise<Scan[]> {
  const found: Scan[] = []
  for (const [index, { sql, params }] of statements.entries()) {
    const given = params.map((param) => (param === null ? 'null' : escapeLiteral(literalText(param)))).join(', ')
    await tx.script('savepoint before')
    const [row] = await tx.query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(
      `explain (analyze, format json) execute s${index}${given === '' ? '' : `(${given})`}`,
    )
    await tx.script('rollback to before')
    const plan = row?.['QUERY PLAN'][0]?.Plan
    assert(plan !== undefined)
    found.push(...scansIn(plan, tables).map((scan) => ({ when, sql, ...scan })))
  }
  return found
}

function literalText(param: unknown): string {
  if (Array.isArray(param)) return `{${param.join(',')}}`
  return param instanceof Buffer && isUuidArray(param) ? `{${uuidsIn(param).join(',')}}` : String(param)
}

// An array in PostgreSQL's binary format: dimensions, flags, the type of its elements, their number, the first index; then
// each element after its length.
const isUuidArray = (param: Buffer): boolean => param.length > 20 && param.readInt32BE(8) === 2950
const uuidsIn = (param: Buffer): string[] =>
  Array.from({ length: param.readInt32BE(12) }, (_, index) => param.toString('hex', 24 + index * 20, 40 + index * 20))

export function scansIn(node: PlanNode, tables: readonly string[]): { node: string; rows: number }[] {
  const table = node['Relation Name'] ?? ''
  const rows = (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']
  const isScan = tables.includes(table) && node['Node Type'].includes('Scan')
  const mine = isScan ? [{ node: `${node['Node Type']} on ${table}`, rows }] : []
  return [...mine, ...(node.Plans ?? []).flatMap((plan) => scansIn(plan, tables))]
}

/** A database that notes every statement of its hot and its async-commit pool. */
export function recording(database: Database, seen: Map<string, Statement>): Database {
  return { ...database, hot: recordingPool(database.hot, seen), asyncCommit: recordingPool(database.asyncCommit, seen) }
}

function recordingPool(pool: Pool, seen: Map<string, Statement>): Pool {
  const record = (sql: string, params: readonly unknown[] = []) =>
    void (seen.has(sql) || seen.set(sql, { sql, params }))
  const recordingOn = (on: Queryable): Queryable => ({
    query: (sql, params) => {
      record(sql, params)
      return on.query(sql, params)
    },
  })
  return {
    ...recordingOn(pool),
    inTurn: (work) => pool.inTurn((on) => work(recordingOn(on))),
    transaction: (work) =>
      pool.transaction((tx) =>
        work({
          ...tx,
          ...recordingOn(tx),
          send: (sql, params) => {
            record(sql, params)
            tx.send(sql, params)
          },
        }),
      ),
  }
}
