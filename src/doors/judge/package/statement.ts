// The problem's text, where the package has it in a form that a page can show.
import { join } from 'node:path'
import { listFolder, readSmallText } from './files.ts'
import type { Statement } from './package.ts'

export const STATEMENT_FOLDERS = ['statement', 'problem_statement']
const NAME = /^problem(?:\.([a-z]{2,3}(?:-[A-Za-z]{2,4})?))?\.(md|tex)$/
const TEXT_BYTES_MAX = 256 * 1024

/** English first, then whatever comes first; Markdown before LaTeX. */
export async function readStatement(packageFolder: string): Promise<Statement | null> {
  for (const name of STATEMENT_FOLDERS) {
    const listed = await listFolder(join(packageFolder, name))
    const found = (listed?.files ?? []).flatMap((file) => {
      const [, language = 'en', extension] = NAME.exec(file) ?? []
      return extension === undefined ? [] : [{ file, language, isMarkdown: extension === 'md' }]
    })
    found.sort((a, b) => rankOf(a) - rankOf(b))
    const [best] = found
    if (best === undefined) continue
    const text = await readSmallText(join(packageFolder, name, best.file), TEXT_BYTES_MAX)
    if (text !== null) return { language: best.language, format: best.isMarkdown ? 'markdown' : 'latex', text }
  }
  return null
}

const rankOf = ({ language, isMarkdown }: { language: string; isMarkdown: boolean }): number =>
  (language === 'en' ? 0 : 2) + (isMarkdown ? 0 : 1)

/** Older packages name the problem only there. */
export const titleInStatement = (statement: Statement | null): string | null =>
  /\\problemname\{([^{}]{1,200})\}/.exec(statement?.text ?? '')?.[1]?.trim() ?? null
