import { ReadsAbandoned, ReeveError } from '@reeve/sdk'

/** The server has answered, and will answer the same again. */
export const isRefused = (error: unknown): boolean => error instanceof ReeveError && error.status < 500

/** For what a live message made a page read again: it is asked for until the server answers, and the page says that it waits. */
export const untilAnswered = {
  retry: (_: number, error: unknown) => !isRefused(error),
  retryDelay: (_: number, error: unknown) => (error instanceof ReadsAbandoned ? 0 : 2000),
} as const

const QUIET_FAILURES = 2

/** What keeps a query from being current. Null: nothing, or a moment's failure. */
export const problemOf = (query: { error: unknown; failureCount: number; failureReason: unknown }): unknown =>
  query.failureCount > QUIET_FAILURES ? query.failureReason : query.error

export const isStatus = (error: unknown, status: number): boolean =>
  error instanceof ReeveError && error.status === status

/** What to tell a person. */
export function messageOf(error: unknown): string {
  if (error instanceof ReeveError) return error.message.replace(/^\d{3}: /, '')
  if (error instanceof DOMException && error.name === 'TimeoutError') return 'The server did not answer in time.'
  if (error instanceof TypeError) return 'The server cannot be reached.'
  return error instanceof Error ? error.message : String(error)
}

/** The server's complaint about each field, by the field's name. Empty: it is about the whole. */
export function fieldErrorsOf(error: unknown): Record<string, string> {
  const body = error instanceof ReeveError ? error.body : null
  if (typeof body !== 'object' || body === null || !('detail' in body) || !Array.isArray(body.detail)) return {}
  const entries = body.detail.flatMap((one: unknown): [string, string][] => {
    if (typeof one !== 'object' || one === null || !('loc' in one) || !('msg' in one)) return []
    const name = Array.isArray(one.loc) ? String(one.loc.at(-1)) : ''
    return name === '' ? [] : [[name, sentence(String(one.msg))]]
  })
  return Object.fromEntries(entries)
}

const sentence = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
