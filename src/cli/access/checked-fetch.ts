// fetch, with a sentence for what is no answer of a Reeve server: no connection, a page of something else.
import { CommandFailed } from '../failure.ts'
import { plain } from '../terminal.ts'

const ANSWERS = /^(application\/json|text\/event-stream|application\/zip)\b/

export const checkedFetch: typeof fetch = async (input, init) => {
  const response = await fetch(input, init).catch((error: unknown) => {
    if (error instanceof DOMException) throw error // it was stopped
    throw new CommandFailed(`No answer from ${originOf(input)}${causeOf(error)}: is the server running?`)
  })
  const type = response.headers.get('content-type') ?? ''
  const isEmpty = response.status === 204 || response.headers.get('content-length') === '0'
  if (response.ok && !isEmpty && !ANSWERS.test(type)) {
    throw new CommandFailed(`${originOf(input)} is not a Reeve server: it answered ${plain(type) || 'something else'}.`)
  }
  return response
}

const originOf = (input: Parameters<typeof fetch>[0]): string =>
  plain(new URL(input instanceof Request ? input.url : String(input)).origin)

/** ECONNREFUSED, ENOTFOUND, DEPTH_ZERO_SELF_SIGNED_CERT … */
function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : null
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  return code === '' ? '' : ` (${plain(code)})`
}
