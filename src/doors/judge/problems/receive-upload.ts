// The body of an upload. A client that hangs up or falls silent ends it with an error that is the client's own, and whoever
// stops reading leaves the connection open for the answer.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { PassThrough, type Readable } from 'node:stream'
import { HttpError } from '../../../core/http/errors/http-error.ts'

const SILENCE_MS_MAX = 30_000

export interface Upload {
  body: Readable
  /** Aborts when the client hangs up before it has its answer. */
  signal: AbortSignal
}

export function receiveUpload(raw: IncomingMessage, response: ServerResponse, silenceMs = SILENCE_MS_MAX): Upload {
  const body = new PassThrough()
  const gone = new AbortController()
  const interrupted = () => new HttpError(400, 'bad_request', 'The upload was interrupted.')
  const silent = () =>
    new HttpError(408, 'request_timeout', `No byte of the body arrived for ${silenceMs / 1000} seconds.`)
  const timer = setTimeout(() => body.destroy(silent()), silenceMs)

  body.on('error', () => {}) // an error before the first read is met by the reader
  body.once('close', () => clearTimeout(timer))
  raw.on('data', () => timer.refresh())
  raw.once('end', () => clearTimeout(timer))
  raw.once('error', (error) => body.destroy(error instanceof HttpError ? error : interrupted()))
  raw.once('close', () => {
    if (!raw.complete) body.destroy(interrupted())
  })
  response.once('close', () => {
    if (!response.writableFinished) gone.abort(interrupted())
  })
  raw.pipe(body)
  return { body, signal: gone.signal }
}
