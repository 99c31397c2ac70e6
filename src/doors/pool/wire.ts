// How this door writes and reads JSON. Payloads, outputs and specs are passed on as the text that was sent: JavaScript's
// numbers would turn 1.0 into 1 and change an integer of 20 digits. Timestamps have six fractional digits and a Z.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { memberTextsInTurns } from '@reeve/sdk'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type, type TSchema } from 'typebox'
import { SECURED } from '../../core/http/routes/docs.ts'
import { sendJsonText } from '../../core/http/send-json.ts'
import { utf8Text } from '../../core/values/utf8-text.ts'

export const documented = { tags: ['pool'], security: SECURED }

/** A value that is already JSON text. */
export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export const rawOrNull = (text: string | null): RawJson | null => (text === null ? null : new RawJson(text))

/** JSON.stringify for values with RawJson parts. */
export function jsonText(value: unknown): string {
  if (value instanceof RawJson) return value.text
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${jsonText(member)}`).join(',')}}`
}

/** The members of a request's body, as text. */
export const bodyTexts = ({ rawBody }: Pick<FastifyRequest, 'rawBody'>): Promise<Map<string, string>> =>
  memberTextsInTurns(rawBody === null ? '' : utf8Text(rawBody), nextTurn)

export const sendJson = (reply: FastifyReply, value: object): FastifyReply => sendJsonText(reply, jsonText(value))

/** SQL: a timestamptz as text. JavaScript's dates have no microseconds, so the database writes them. */
export const timestampText = (expression: string): string =>
  `to_char((${expression}) at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`

export const timestampOf = (date: Date): string => date.toISOString().replace('Z', '000Z')

export const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

/** Any JSON object. */
export const JsonObject = Type.Record(Type.String(), Type.Unknown())

/** An id of this door. An unknown one is a 404, not a validation error. */
export const Id = Type.Integer({ minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER })
