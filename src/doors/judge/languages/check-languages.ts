// For `reeve doctor`: which languages could be judged on this machine, and how to get the others.
import { readSettings } from '../../../core/settings.ts'
import { JUDGE_SETTINGS } from '../settings.ts'
import { loadLanguages } from './language.ts'
import { findToolchain } from './toolchain.ts'

export interface LanguageCheck {
  what: string
  found: boolean
  detail: string
}

export async function checkLanguages(env: Readonly<Record<string, string | undefined>>): Promise<LanguageCheck[]> {
  const { JUDGE_LANGUAGES_FILE } = readSettings(JUDGE_SETTINGS, env, [])
  const languages = await loadLanguages(JUDGE_LANGUAGES_FILE)
  return Promise.all(
    [...languages.values()].map(async (language) => {
      const toolchain = await findToolchain(language)
      if ('version' in toolchain) return { what: language.name, found: true, detail: toolchain.version }
      const how = language.install === undefined ? '' : `: ${language.install}`
      return { what: language.name, found: false, detail: `${toolchain.missing} is not here${how}` }
    }),
  )
}
