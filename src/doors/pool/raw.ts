// JSON that somebody sent is handed on as the text it was: JavaScript's numbers would turn 1.0 into 1, and an id of 20 digits
// into another one.
import type { FastifyReply } from 'fastify'

export class Raw {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export const rawOrNull = (text: string | null): Raw | null => (text === null ? null : new Raw(text))

/** JSON.stringify for values in which some parts are texts already. */
export function jsonText(value: unknown): string {
  if (value instanceof Raw) return value.text
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const members = Object.entries(value).filter(([, member]) => member !== undefined)
  return `{${members.map(([key, member]) => `${JSON.stringify(key)}:${jsonText(member)}`).join(',')}}`
}

export const sendJson = (reply: FastifyReply, value: object): FastifyReply =>
  reply.type('application/json; charset=utf-8').send(jsonText(value))
