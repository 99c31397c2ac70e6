// The OpenAPI description covers every route and says what each answers.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ACCESS } from '../../security/access.ts'
import { allDoors } from '../../security/all-doors.ts'

/** Pages and files for browsers, and the description itself. */
const PAGES = /^\w+ \/(?:\*|docs(?:\/.*)?|console(?:\/.*)?|assets\/.*|robots\.txt|favicon\.\w+)?$/
/** Responses without a body. */
const EMPTY = /^(?:101|204|3\d\d)$/

interface Operation {
  responses?: Record<string, { description?: string; content?: Record<string, { schema?: object }> }>
}

test('the OpenAPI description has every route, and a body for every response of every operation', async (t) => {
  const { app } = await allDoors(t)
  const { paths }: { paths: Record<string, Record<string, Operation>> } = (
    await app.inject({ url: '/docs/json' })
  ).json()

  const described = Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const missing = Object.keys(ACCESS)
    .filter((route) => !PAGES.test(route) && !route.startsWith('OPTIONS ') && !route.startsWith('HEAD '))
    .filter((route) => !described.some((one) => isSame(one, route.replaceAll(/:(\w+)/g, '{$1}'))))
  assert.deepEqual(missing, [], 'routes that are not described')

  const bare = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).flatMap(([method, { responses = {} }]) => bodiesMissing(`${method} ${path}`, responses)),
  )
  assert.deepEqual(bare, [], 'responses without a body')
})

/** Where a route has a wildcard, the description names its parts. */
const isSame = (described: string, route: string): boolean =>
  route.endsWith('*') ? described.startsWith(`${route.slice(0, -1)}/`) : described === route

function bodiesMissing(operation: string, responses: NonNullable<Operation['responses']>): string[] {
  const statuses = Object.keys(responses)
  if (!statuses.some((status) => /^[123]/.test(status))) return [`${operation}: no success`]
  return statuses
    .filter((status) => !EMPTY.test(status))
    .filter((status) => !Object.values(responses[status]?.content ?? {}).some(({ schema }) => schema !== undefined))
    .map((status) => `${operation}: ${status}`)
}
