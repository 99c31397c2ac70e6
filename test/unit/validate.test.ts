import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Type } from 'typebox'
import { HttpError } from '../../src/core/http/errors/http-error.ts'
import { compileSchema } from '../../src/core/http/request/validate.ts'

const Shape = Type.Union([
  Type.Object({ kind: Type.Literal('circle'), radius: Type.Integer() }),
  Type.Object({ kind: Type.Literal('label'), text: Type.String() }),
])
const Body = Type.Object(
  {
    name: Type.Optional(Type.String({ minLength: 5, pattern: '^z' })),
    note: Type.Optional(Type.Union([Type.String({ minLength: 3 }), Type.Null()])),
    side: Type.Optional(Type.Union([Type.Literal('left'), Type.Literal('right')])),
    shape: Type.Optional(Shape),
  },
  { additionalProperties: false },
)

function fieldsOf(body: unknown): string[] {
  const validate = compileSchema({ schema: Body, method: 'POST', url: '/', httpPart: 'body' })
  const answer: unknown = validate(body)
  if (typeof answer !== 'object' || answer === null || !('error' in answer)) return []
  assert(answer.error instanceof HttpError)
  return (answer.error.fields ?? []).map(({ path, message }) => `${path.join('.')} ${message}`)
}

test('one bad field gives one error, also where its schema is a union', () => {
  const cases: [body: object, error: string][] = [
    [{ name: 'q' }, 'body.name must not have fewer than 5 characters'],
    [{ note: 5 }, 'body.note must be string or null'],
    [{ note: 'ab' }, 'body.note must not have fewer than 3 characters'],
    [{ side: 'up' }, 'body.side must be "left" or "right"'],
    [{ shape: { kind: 'circle', radius: 'x' } }, 'body.shape.radius must be integer'],
    [{ shape: { kind: 'label' } }, 'body.shape.text is required'],
    [{ shape: 7 }, 'body.shape must be object'],
    [{ colour: 'red' }, 'body.colour is not known here'],
  ]
  for (const [body, error] of cases) assert.deepEqual(fieldsOf(body), [error])

  assert.deepEqual(fieldsOf({ name: 'q', note: 5 }).length, 2)
  assert.deepEqual(fieldsOf({ name: 'zebra', note: null, side: 'left' }), [])
})

test('only the declared parameters of a query reach the handler', () => {
  const schema = Type.Object({ limit: Type.Optional(Type.Integer()) })
  const validate = compileSchema({ schema, method: 'GET', url: '/', httpPart: 'querystring' })

  assert.deepEqual(validate({ limit: '5', after: '1e309', q: ['a', 'b'] }), { value: { limit: 5 } })
})
