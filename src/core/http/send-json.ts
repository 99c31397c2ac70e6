// Answers that are JSON already.
import type { FastifyReply } from 'fastify'
import { jsonInTurns } from '../values/json-pieces.ts'

export const sendJsonText = (reply: FastifyReply, json: string | Buffer): FastifyReply =>
  reply.type('application/json; charset=utf-8').send(json)

/** An answer that may be megabytes of untrusted text. `bytesAbout`: about how large it will be. */
export const sendInTurns = async (reply: FastifyReply, value: object, bytesAbout: number): Promise<FastifyReply> =>
  sendJsonText(reply, await jsonInTurns(value, bytesAbout))
