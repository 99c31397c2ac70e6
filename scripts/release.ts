// npm run release -- 0.2.0 [--dry-run]: sets the version, closes the changelog's Unreleased part, commits and tags.
// It refuses a tree with changes, a version that does not rise, and a changelog with nothing to release. It pushes nothing.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'

const PACKAGES = ['package.json', 'sdk/package.json']
const CHANGELOG = 'CHANGELOG.md'
const VERSION = /^(\d+)\.(\d+)\.(\d+)$/

const args = process.argv.slice(2)
const isDry = args.includes('--dry-run')
const [version] = args.filter((arg) => arg !== '--dry-run')

try {
  console.log(release(version ?? ''))
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error))
  process.exitCode = 1
}

function release(next: string): string {
  const current = JSON.parse(readFileSync('package.json', 'utf8')).version
  if (!VERSION.test(next)) throw new Error('Usage: npm run release -- MAJOR.MINOR.PATCH [--dry-run]')
  if (!isNewer(next, current)) throw new Error(`${next} is not newer than ${current}.`)
  const dirty = git('status', '--porcelain')
  if (dirty !== '') throw new Error(`The tree has changes. Commit or stash them first:\n${dirty}`)
  if (git('tag', '--list', `v${next}`) !== '') throw new Error(`There is a tag v${next}.`)
  const changelog = readFileSync(CHANGELOG, 'utf8')
  const notes = unreleased(changelog)
  if (notes === '') throw new Error(`${CHANGELOG} has nothing under "## Unreleased".`)
  if (isDry) return `Would release v${next} (now ${current}) with these notes:\n\n${notes}`

  for (const file of PACKAGES) {
    const text = readFileSync(file, 'utf8')
    writeFileSync(file, text.replace(/"version": "[^"]*"/, `"version": "${next}"`))
  }
  execFileSync('npm', ['install', '--package-lock-only', '--ignore-scripts'], { stdio: 'ignore' })
  const date = git('log', '-1', '--format=%cs')
  writeFileSync(CHANGELOG, changelog.replace('## Unreleased\n', `## Unreleased\n\n## ${next} (${date})\n`))
  git('commit', '--all', '--message', `Release ${next}`)
  git('tag', '--annotate', `v${next}`, '--message', `${next}\n\n${notes}`)
  return `Released v${next}. To publish it: git push --follow-tags`
}

function unreleased(changelog: string): string {
  const [, part = ''] = changelog.split(/^## Unreleased$/m)
  return (part.split(/^## /m)[0] ?? '').trim()
}

function isNewer(next: string, current: string): boolean {
  const [a, b] = [next, current].map((text) => text.split('.').map(Number))
  for (let at = 0; at < 3; at += 1) {
    const difference = (a?.[at] ?? 0) - (b?.[at] ?? 0)
    if (difference !== 0) return difference > 0
  }
  return false
}

function git(...options: string[]): string {
  return execFileSync('git', options, { encoding: 'utf8' }).trim()
}
