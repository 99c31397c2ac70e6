// What somebody has typed, kept in this browser for each problem and language, and the language that was chosen last.
import { beginningOf } from './languages.ts'

const LANGUAGE = 'reeve.judge.language'
const draftKey = (problem: string, language: string) => `reeve.judge.draft.${problem}.${language}`
const inputKey = (problem: string) => `reeve.judge.input.${problem}`

/** A browser may refuse to keep anything. */
function read(key: string): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}

function write(key: string, text: string): void {
  try {
    localStorage.setItem(key, text)
  } catch {
    // nothing is kept, and everything else works
  }
}

export function chosenLanguage(offered: readonly { id: string }[]): string {
  const last = read(LANGUAGE)
  return offered.find(({ id }) => id === last)?.id ?? offered[0]?.id ?? ''
}

export const chooseLanguage = (language: string): void => write(LANGUAGE, language)

export const draftOf = (problem: string, language: string): string =>
  read(draftKey(problem, language)) ?? beginningOf(language)

export const keepDraft = (problem: string, language: string, code: string): void =>
  write(draftKey(problem, language), code)

export const inputOf = (problem: string): string | null => read(inputKey(problem))

export const keepInput = (problem: string, input: string): void => write(inputKey(problem), input)
