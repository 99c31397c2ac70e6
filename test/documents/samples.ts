// The samples of the documents: fenced blocks, each with its language, its place, and why it is not run if it says so in a comment before it:
// <!-- no-run: reason -->
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface Sample {
  /** As `docs/pool.md:58`. */
  at: string
  language: string
  text: string
  /** Null: it is run or checked. */
  notRun: string | null
}

/** Their samples are run by guides.test.ts, those of all other pages by run-samples.test.ts. */
export const GUIDES = 'docs/guides/'
const PAGES = ['README.md', 'CONTRIBUTING.md', 'sdk/README.md']
const BLOCK = /^(?: *<!-- no-run: (.+?) -->\n+)?( *)```(\w*)\n([\s\S]*?)^ *```$/gm

export function readSamples(): Sample[] {
  const documents = readdirSync('docs', { recursive: true, encoding: 'utf8' }).map((name) => join('docs', name))
  return [...PAGES, ...documents.filter((name) => name.endsWith('.md'))].flatMap(samplesOf)
}

function samplesOf(page: string): Sample[] {
  const content = readFileSync(page, 'utf8')
  return [...content.matchAll(BLOCK)].map(
    ({ index, 1: notRun = null, 2: indent = '', 3: language = '', 4: text = '' }) => ({
      at: `${page}:${content.slice(0, index).split('\n').length}`,
      language,
      text: text.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      notRun,
    }),
  )
}
