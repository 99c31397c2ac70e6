// A route's schemas are compiled when it is first asked. Here all of them are compiled, so that none fails at a user's request.
import assert from 'node:assert/strict'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { test } from 'node:test'
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import type { FastifyInstance, RouteOptions } from 'fastify'
import { Compile } from 'typebox/compile'
import { isObject } from '../../src/core/values/is-object.ts'
import { startReeve } from '../support/reeve.ts'

test('the schemas of every route can be compiled', async (t) => {
  const routes: RouteOptions[] = []
  const collect = (message: unknown) => {
    if (hasApp(message)) message.fastify.addHook('onRoute', (route) => void routes.push(route))
  }
  subscribe('fastify.initialization', collect)
  t.after(() => unsubscribe('fastify.initialization', collect))
  await startReeve(t, { role: 'serve' })

  const compileAnswer = SerializerSelector()({}, {})
  let compiled = 0
  for (const { url, schema = {} } of routes) {
    for (const part of [schema.body, schema.querystring, schema.params, schema.headers].filter(isObject)) {
      assert.doesNotThrow(() => Compile(part), url)
      compiled += 1
    }
    for (const answer of answersIn(schema.response)) {
      assert.doesNotThrow(() => compileAnswer({ schema: answer, method: '', url, httpStatus: '' }), url)
      compiled += 1
    }
  }
  assert(compiled > 100, `only ${compiled} schemas`)
})

const hasApp = (message: unknown): message is { fastify: FastifyInstance } => isObject(message) && 'fastify' in message

/** Of every status, and of every media type that it may have. */
function answersIn(response: unknown): object[] {
  const ofStatus = isObject(response) ? Object.values(response).filter(isObject) : []
  return ofStatus.flatMap((answer) => {
    if (!isObject(answer['content'])) return [answer]
    return Object.values(answer['content']).flatMap((media) =>
      isObject(media) && isObject(media['schema']) ? [media['schema']] : [],
    )
  })
}
