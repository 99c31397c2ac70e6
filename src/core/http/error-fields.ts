/**
 * What of an error may be logged. A database error also carries the row that it refused, and that may hold a hash or a
 * token: only names, codes and the stack are taken.
 */
export function errorFields(error: unknown): { err: object } {
  if (!(error instanceof Error)) return { err: { message: 'Something that is not an error was thrown.' } }
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  return { err: { type: error.name, message: error.message, stack: error.stack, ...code } }
}
