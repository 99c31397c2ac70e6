// Patterns of submissions.yaml: `*` stands for characters of one name, `{a,b}` for one of several texts. A pattern matches a
// path and everything below it.

const ALTERNATIVES_MAX = 64

export function matchesGlob(pattern: string, path: string): boolean {
  const parts = path.split('/')
  return alternatives(pattern.replace(/\/$/, '')).some((one) => {
    const names = one.split('/')
    return names.length <= parts.length && names.every((name, index) => matchesName(name, parts[index] ?? ''))
  })
}

/** `{a,b}.py` as `a.py` and `b.py`. Braces inside braces are not taken apart. */
function alternatives(pattern: string): string[] {
  let all = ['']
  let rest = pattern
  while (rest !== '') {
    const open = rest.indexOf('{')
    const close = rest.indexOf('}', open)
    if (open === -1 || close === -1) return all.map((text) => text + rest)
    const choices = rest.slice(open + 1, close).split(',')
    const before = rest.slice(0, open)
    all = all.flatMap((text) => choices.map((choice) => text + before + choice)).slice(0, ALTERNATIVES_MAX)
    rest = rest.slice(close + 1)
  }
  return all
}

/** In one pass for each piece between two stars. */
function matchesName(pattern: string, name: string): boolean {
  const [first = '', ...others] = pattern.split('*')
  const last = others.pop()
  if (last === undefined) return pattern === name
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length) return false
  let at = first.length
  for (const piece of others) {
    const found = name.indexOf(piece, at)
    if (found === -1) return false
    at = found + piece.length
  }
  return at <= name.length - last.length
}
