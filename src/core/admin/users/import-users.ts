// POST /admin/users/import: the accounts of a class or a team, from a spreadsheet saved as CSV.
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { CsvError, parse } from 'csv-parse/sync'
import { Type } from 'typebox'
import { accountOf, requireRole } from '../../http/auth/guard.ts'
import { refusals } from '../../http/errors/detail.ts'
import { HttpError } from '../../http/errors/http-error.ts'
import { SECURED } from '../../http/routes/docs.ts'
import type { AccountToImport, ImportOutcome } from '../../identity/import-accounts.ts'
import { isRole, ROLES, type Role } from '../../identity/role.ts'
import { linkOnWire, LinkView, type PasswordLinkDeps } from './password-link.ts'

const CSV_BYTES_MAX = 1024 * 1024
const ROWS_MAX = 1000
const COLUMNS = ['username', 'password', 'roles']
// Commas, and what spreadsheets write in their place where the comma is a decimal point.
const DELIMITERS = [',', ';', '\t']
const DATA_ROW_FIRST = 2

const Row = Type.Object({
  row: Type.Integer({ description: 'In the list, whose first row has the names of the columns.' }),
  username: Type.String(),
  status: Type.Enum(['created', 'exists', 'refused']),
  user_id: Type.Union([Type.Integer(), Type.Null()]),
  reason: Type.Union([Type.String(), Type.Null()], { description: 'Why it was refused.' }),
  password_link: Type.Union([LinkView, Type.Null()], { description: 'For a row without a password.' }),
})

export const importUsersRoute =
  ({ identity, config }: PasswordLinkDeps): FastifyPluginAsyncTypebox =>
  async (app) => {
    app.addContentTypeParser<Buffer>(
      'text/csv',
      { parseAs: 'buffer', bodyLimit: CSV_BYTES_MAX },
      async (_request: FastifyRequest, bytes: Buffer) => bytes,
    )
    const schema = {
      tags: ['admin'],
      security: SECURED,
      summary: 'Create the accounts of a CSV list with the columns username, password (optional), roles (optional).',
      description: `At most ${ROWS_MAX} rows. What exists is left as it is. Roles are separated by spaces.`,
      consumes: ['text/csv'],
      response: { 200: Type.Object({ rows: Type.Array(Row) }), ...refusals(401, 403, 413, 415, 422) },
    }
    app.post(
      '/admin/users/import',
      { onRequest: requireRole(identity, 'ADMIN'), bodyLimit: CSV_BYTES_MAX, schema },
      async (request, reply) => {
        const list = parseList(request.body)
        const outcomes = await identity.importAccounts(list, { actorId: accountOf(request).accountId })
        reply.header('cache-control', 'no-store')
        return {
          rows: outcomes.map((outcome, index) => ({
            row: DATA_ROW_FIRST + index,
            username: list[index]?.username ?? '',
            ...onWire(outcome, (link) => linkOnWire(link, request, config)),
          })),
        }
      },
    )
  }

type LinkOf = (link: Parameters<typeof linkOnWire>[0]) => ReturnType<typeof linkOnWire>

const REASONS = {
  invalid_username: 'A username has 1 to 120 visible characters, with no space at either end.',
  invalid_password: 'A password has 8 to 1024 characters.',
} as const

function onWire(outcome: ImportOutcome, linkOf: LinkOf) {
  const { status } = outcome
  if (status === 'refused') return { status, user_id: null, reason: REASONS[outcome.reason], password_link: null }
  const link = status === 'created' && outcome.link !== null ? linkOf(outcome.link) : null
  return { status, user_id: outcome.account.accountId, reason: null, password_link: link }
}

/** The whole list is refused for a row that cannot be read: nothing is created from a list that was misunderstood. */
function parseList(body: unknown): AccountToImport[] {
  const [header, ...rows] = recordsOf(Buffer.isBuffer(body) ? body : Buffer.alloc(0))
  const names = (header ?? []).map((name) => name.toLowerCase())
  const unknown = names.find((name, index) => !COLUMNS.includes(name) || names.indexOf(name) !== index)
  if (unknown !== undefined || !names.includes('username')) {
    throw badList(`The first row names the columns: username, and if you like password and roles`)
  }
  if (rows.length > ROWS_MAX) throw badList(`The list has more than ${ROWS_MAX} rows: import it in parts`)
  return rows.map((cells, index) => {
    const cell = (name: string): string => cells[names.indexOf(name)] ?? ''
    const password = cell('password')
    return {
      username: cell('username'),
      password: password === '' ? null : password,
      roles: rolesIn(cell('roles'), DATA_ROW_FIRST + index),
    }
  })
}

function rolesIn(text: string, row: number): Role[] {
  return text
    .split(/[\s|]+/)
    .filter((name) => name !== '')
    .map((name) => {
      const role = name.toUpperCase()
      if (isRole(role)) return role
      throw badList(`Row ${row}: roles are ${ROLES.join(', ')}`)
    })
}

function recordsOf(bytes: Buffer): string[][] {
  const text = new TextDecoder('utf-8')
  const decoded = text.decode(bytes)
  if (decoded.includes('\u{fffd}') || decoded.includes('\0')) throw badList('The list is not UTF-8 text')
  try {
    return parse(decoded, { delimiter: DELIMITERS, trim: true, skip_empty_lines: true, max_record_size: 10_000 })
  } catch (error) {
    // Its message may quote a password.
    if (error instanceof CsvError) throw badList('The list is not CSV, or a row has another number of columns')
    throw error
  }
}

const badList = (message: string): HttpError => new HttpError(422, 'validation_failed', message)
