// What plugins and src/core/http add to Fastify's types.
import '@fastify/websocket'
import '../../src/core/http/request/request.ts'
