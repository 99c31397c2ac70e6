// Arrays as parameters of a statement. `pg` would look at each value to escape it; where nothing needs escaping, and that is
// nearly always, one look at all of them will do.

const NEEDS_ESCAPING = /["\\]/

export const textsParam = (values: readonly string[]): string | readonly string[] =>
  values.length === 0 || NEEDS_ESCAPING.test(values.join('')) ? values : `{"${values.join('","')}"}`

export const numbersParam = (values: readonly number[]): string => `{${values.join(',')}}`
