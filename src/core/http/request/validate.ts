// Validates input with TypeBox. A body is taken as it is: nothing is coerced, filled in or removed. The values of a query or
// a path are strings, from which numbers and booleans are parsed where the schema asks for them. Of a query only the declared
// parameters reach the handler: an unknown one is ignored, and none gets there unchecked. TypeBox bounds the list of errors (8),
// so that a large invalid body costs no more than a small one.
import type { FastifySchemaCompiler } from 'fastify'
import { IsOptional, type TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { oncePerSchema } from '../once-per-schema.ts'
import { HttpError, type FieldError } from '../errors/http-error.ts'
import { onePerField, type ValidationError } from './one-per-field.ts'

const FIELDS_MAX = 8
const WHOLE_NUMBER = /^-?\d{1,15}$/
const DECIMAL_NUMBER = /^-?\d{1,15}(?:\.\d{1,15})?$/

/** FastAPI's names, which existing clients know. */
const PART_NAMES: Readonly<Record<string, string>> = {
  body: 'body',
  querystring: 'query',
  params: 'path',
  headers: 'header',
}

const validatorOf = oncePerSchema((schema: TSchema) => Compile(schema))

export const compileSchema: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const part = PART_NAMES[httpPart ?? 'body'] ?? 'body'
  const read = part === 'body' ? (data: unknown) => data : readTexts(schema, part)

  const mayBeAbsent = IsOptional(schema)

  return (data: unknown) => {
    if (mayBeAbsent && (data === undefined || data === null)) return { value: data }
    const value = read(data)
    const validator = validatorOf(schema)
    return validator.Check(value) ? { value } : { error: validationError(part, validator.Errors(value)) }
  }
}

function validationError(part: string, errors: readonly ValidationError[]): HttpError {
  // An unknown field is reported twice: by `additionalProperties`, and as one for which the schema is `false`.
  const fields = onePerField(errors.filter(({ keyword }) => keyword !== 'boolean'))
    .flatMap(({ error, message }) => fieldsOf(part, error, message))
    .slice(0, FIELDS_MAX)
  const first = fields[0]
  const message = first === undefined ? 'The request is not valid.' : `${first.path.join('.')} ${first.message}.`
  return new HttpError(400, 'validation_failed', message, { fields })
}

function fieldsOf(part: string, error: ValidationError, message: string): FieldError[] {
  const path = [part, ...pointerParts(error.instancePath)]
  switch (error.keyword) {
    case 'required':
      return error.params.requiredProperties.map((name) => ({
        path: [...path, name],
        rule: 'required',
        message: 'is required',
      }))
    case 'additionalProperties':
      return error.params.additionalProperties.slice(0, FIELDS_MAX).map((name) => ({
        path: [...path, name.slice(0, 100)],
        rule: 'additionalProperties',
        message: 'is not known here',
      }))
    default:
      return [{ path, rule: error.keyword, message }]
  }
}

const pointerParts = (pointer: string): string[] =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~').slice(0, 100))

/** Parses numbers and booleans from strings; anything else is left for the schema to refuse. */
function readTexts(schema: TSchema, part: string): (data: unknown) => unknown {
  const declared = new Map<string, string | undefined>()
  if ('properties' in schema && typeof schema.properties === 'object' && schema.properties !== null) {
    for (const [name, property] of Object.entries(schema.properties)) {
      const hasType = typeof property === 'object' && property !== null && 'type' in property
      declared.set(name, hasType ? String(property.type) : undefined)
    }
  }
  const takesAll = part !== 'query' || declared.size === 0 || 'additionalProperties' in schema
  const isTaken = (name: string) => takesAll || declared.has(name)
  return (data) => {
    if (typeof data !== 'object' || data === null) return data
    const taken = Object.entries(data).filter(([name]) => isTaken(name))
    return Object.fromEntries(taken.map(([name, text]) => [name, readText(declared.get(name), text)]))
  }
}

function readText(type: string | undefined, text: unknown): unknown {
  if (typeof text !== 'string') return text
  if (type === 'integer' && WHOLE_NUMBER.test(text)) return Number(text)
  if (type === 'number' && DECIMAL_NUMBER.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
