// What the suites' options have in common.

/** Undefined where the option was not given. */
export function positive(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  if (!/^[1-9]\d*$/.test(text)) throw new Error(`${option}: expected a positive integer, got "${text}"`)
  return Number(text)
}

/** In the order of `known`, so that the order of an option never changes the order of the tables. All where it was not given. */
export function pick<Name extends string>(
  option: string,
  text: string | undefined,
  known: readonly Name[],
): readonly Name[] {
  if (text === undefined) return known
  const wanted = new Set(text.split(','))
  const picked = known.filter((name) => wanted.delete(name))
  if (wanted.size > 0) throw new Error(`${option}: no ${[...wanted].join(', ')}; there is ${known.join(', ')}`)
  return picked
}
