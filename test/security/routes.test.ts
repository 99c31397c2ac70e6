import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InjectOptions } from 'fastify'
import { ROLES } from '../../src/core/identity/role.ts'
import { ACCESS, type Access } from './access.ts'
import { allDoors, routesOf } from './all-doors.ts'

type Method = NonNullable<InjectOptions['method']>
const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']
/** An id that nothing has: whoever may delete it deletes nothing. */
const NOBODY = '999999'

test('every route refuses every role that may not ask it, and no other', async (t) => {
  const { app, tokenOf } = await allDoors(t)
  const routes = routesOf(app)

  assert.deepEqual(
    routes.filter((route) => !Object.hasOwn(ACCESS, route)),
    [],
    'routes without a row in access.ts',
  )
  assert.deepEqual(
    Object.keys(ACCESS).filter((row) => !routes.includes(row)),
    [],
    'rows of access.ts without a route',
  )

  const wrong: string[] = []
  for (const route of routes) {
    const [name = '', path = ''] = route.split(' ')
    const method = METHODS.find((known) => known === name) ?? 'GET'
    const url = path.replaceAll(/:\w+/g, NOBODY).replace('*', 'x')
    const access = ACCESS[route] ?? 'anyone'
    for (const role of [null, ...ROLES]) {
      const headers = role === null ? {} : { authorization: `Bearer ${await tokenOf(role)}` }
      const { statusCode } = await app.inject({ method, url, headers })
      if (statusCode >= 500 || !isExpected(access, role, statusCode)) wrong.push(`${route} as ${role}: ${statusCode}`)
    }
  }
  assert.deepEqual(wrong, [])
})

function isExpected(access: Access, role: (typeof ROLES)[number] | null, status: number): boolean {
  const isRefused = status === 401 || status === 403
  if (access === 'anyone') return !isRefused
  if (access === 'socket') return status === 426
  if (access === 'own credential') return status === 401
  if (role === null) return status === 401
  if (access === 'account' || access.includes(role)) return !isRefused
  return status === 403
}
