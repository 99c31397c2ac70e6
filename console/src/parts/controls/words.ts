// The words of a search: `kind:send_email state:dead "out of memory"`. What has no name before a colon is free text.

export interface Words {
  /** The last value of each name. */
  named: Readonly<Record<string, string>>
  /** The rest, as it was typed. */
  text: string
}

const WORD = /(?:([a-z_]+):)?(?:"([^"]*)"?|(\S+))/gy

/** `names` are the words that the page knows; any other is free text. */
export function parseWords(input: string, names: readonly string[]): Words {
  const named: Record<string, string> = {}
  const rest: string[] = []
  for (const raw of wordsIn(input)) {
    const [, name, quoted, plain] = raw
    const value = quoted ?? plain ?? ''
    if (name !== undefined && names.includes(name)) named[name] = value
    else rest.push(name === undefined ? value : `${name}:${value}`)
  }
  return { named, text: rest.join(' ') }
}

export function formatWords({ named, text }: Words): string {
  const words = Object.entries(named).map(([name, value]) => `${name}:${quoted(value)}`)
  return [...words, ...(text === '' ? [] : [text])].join(' ')
}

/** The same search with one word changed; null takes it out. */
export function withWord(input: string, names: readonly string[], name: string, value: string | null): string {
  const { named, text } = parseWords(input, names)
  const others = Object.fromEntries(Object.entries(named).filter(([other]) => other !== name))
  return formatWords({ named: value === null ? others : { ...others, [name]: value }, text })
}

const quoted = (value: string): string =>
  /[\s"]/.test(value) || value === '' ? `"${value.replaceAll('"', '')}"` : value

function wordsIn(input: string): RegExpMatchArray[] {
  const found: RegExpMatchArray[] = []
  const pattern = new RegExp(WORD)
  while (pattern.lastIndex < input.length) {
    const space = /\s*/y
    space.lastIndex = pattern.lastIndex
    space.exec(input)
    pattern.lastIndex = space.lastIndex
    const match = pattern.exec(input)
    if (match === null) break
    found.push(match)
  }
  return found
}
