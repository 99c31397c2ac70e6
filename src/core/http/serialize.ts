// Writes answers as their route's schema says, with Fastify's own compiler.
import { SerializerSelector } from '@fastify/fast-json-stringify-compiler'
import type { FastifySerializerCompiler } from 'fastify/types/schema.js'
import { oncePerSchema } from './once-per-schema.ts'

const ANY_ROUTE = { method: '', url: '', httpStatus: '' } // it names no route in what it compiles
const compile = SerializerSelector()({}, {})
const serializerOf = oncePerSchema((schema: object) => compile({ schema, ...ANY_ROUTE }))

export const compileAnswer: FastifySerializerCompiler<object> =
  ({ schema }) =>
  (data) =>
    serializerOf(schema)(data)
