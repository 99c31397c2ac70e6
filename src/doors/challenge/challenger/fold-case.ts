// Unicode's simple case folding, character by character: what a regular expression with the flags `iu` compares by. (Lower
// case alone is not enough: ς and σ, ſ and s differ in it.)

// oxlint-disable-next-line no-control-regex
const ASCII = /^[\x00-\x7f]*$/

export const isSameFolded = (a: string, b: string): boolean => foldCase(a) === foldCase(b)

function foldCase(text: string): string {
  if (ASCII.test(text)) return text.toLowerCase()
  const folded = new Map<string, string>()
  let result = ''
  for (const character of text) {
    const known = folded.get(character) ?? foldCharacter(character)
    folded.set(character, known)
    result += known
  }
  return result
}

/** The lower case of the upper case, where both are one character and folding agrees; ı, for example, is not i. */
function foldCharacter(character: string): string {
  const upper = character.toUpperCase()
  const candidate = (isOne(upper) ? upper : character).toLowerCase()
  return isOne(candidate) && isFoldedAlike(character, candidate) ? candidate : character
}

const isOne = (text: string): boolean => [...text].length === 1

const isFoldedAlike = (a: string, b: string): boolean =>
  a === b || new RegExp(`^\\u{${(a.codePointAt(0) ?? 0).toString(16)}}$`, 'iu').test(b)
