// Expected refusals are returned as a union, so that the compiler makes the caller handle them. Broken invariants throw.

export interface Ok {
  ok: true
}

export interface Refused<Code extends string> {
  ok: false
  code: Code
}

export const ok: Ok = { ok: true }

export const refused = <Code extends string>(code: Code): Refused<Code> => ({ ok: false, code })

/** For the default of a switch over a union: a new member is then a compile error here. */
export function assertNever(value: never): never {
  throw new Error(`Unexpected value: ${JSON.stringify(value)}`)
}

/** A limit on waiting work is reached: the client may try again later. */
export class Overloaded extends Error {
  override name = 'Overloaded'
}
