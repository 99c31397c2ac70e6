import { hostname } from 'node:os'
import type { DatabaseError } from 'pg'
import pino, { type Logger } from 'pino'
import type { Config } from '../config.ts'
import { isRefusedValue } from '../db/database.ts'
import { isObject } from '../values/is-object.ts'

// Fields with these names are masked, should they be logged by mistake.
const SECRET_PATHS = ['authorization', 'cookie', 'password', 'token', 'secret', 'solution', 'x-api-key']

/** Structured lines on standard output; one line per event, with job_id, attempt_id and trace_id where there are any. */
export function openLog(config: Pick<Config, 'LOG_LEVEL'>, destination?: pino.DestinationStream): Logger {
  const options = {
    level: config.LOG_LEVEL,
    base: { pid: process.pid },
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: plainError },
    redact: { paths: SECRET_PATHS.flatMap((name) => [`["${name}"]`, `*["${name}"]`]), censor: '[masked]' },
  }
  return destination === undefined ? pino(options) : pino(options, destination)
}

/** Only the fields that explain the error. A library may attach its connection to an error, password included. */
function plainError(error: unknown): object {
  if (!(error instanceof Error)) return isObject(error) ? serialisedError(error) : { message: String(error) }
  if (isRefusedValue(error)) return dataError(error)
  const code = 'code' in error ? { code: String(error.code) } : {}
  return { type: error.name, message: error.message, ...code, stack: error.stack }
}

/** The error of a line that another thread has logged. */
const serialisedError = ({ type, message, code, stack }: Record<string, unknown>): object => ({
  type,
  message,
  code,
  stack,
})

/** PostgreSQL quotes the refused value in the message, and so in the stack, in the detail and elsewhere. */
function dataError(error: DatabaseError): object {
  const { name: type, code, table, column, constraint, routine, stack = '' } = error
  const calls = stack.split('\n').filter((line) => line.startsWith('    at '))
  const message = 'PostgreSQL refused a value.'
  return { type, message, code, table, column, constraint, routine, stack: calls.join('\n') }
}

/** The fields of every line about an attempt. */
export const attemptFields = (job: { jobId: string; attemptId: number; traceId: string | null }) => ({
  job_id: job.jobId,
  attempt_id: job.attemptId,
  trace_id: job.traceId,
})

/** The name of this process as the owner of leases. */
export const ownerName = (config: Pick<Config, 'JOB_STREAM_CONSUMER' | 'WORKER_ID'>): string =>
  config.JOB_STREAM_CONSUMER || config.WORKER_ID || `${hostname()}-${process.pid}`
