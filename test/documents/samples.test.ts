// Every sample of a document is checked as far as that goes without a server: shell samples are valid, and the commands and options of `reeve` in them
// exist; JSON parses; JavaScript is valid; TypeScript compiles against the SDK as it is.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import { REEVE } from '../support/program.ts'
import { readSamples, type Sample } from './samples.ts'

const CHECKED = ['sh', 'json', 'ts', 'js']
// Below the repository, where the packages are found, and not where sample-shell.ts keeps programs that run meanwhile.
const FOLDER = resolve('build/typed-samples')

// What the text around a sample has introduced.
const GIVEN = `
  declare const url: string, apiKey: string, userAgent: string, id: string
  declare const orchestrator: import('@reeve/sdk/desk').Orchestrator<import('@reeve/sdk/desk').Executed>
  declare const reeve: import('@reeve/sdk').ReeveClient
  declare const arena: import('@reeve/sdk/arena').ArenaClient
`

const samples = readSamples()
const checked = (...languages: string[]): Sample[] =>
  samples.filter(({ language, notRun }) => languages.includes(language) && notRun === null)

describe('samples of the documents', () => {
  test('each is in a language that is checked here, or says why not', () => {
    const unchecked = samples.filter(({ language, notRun }) => notRun === null && !['', ...CHECKED].includes(language))
    assert.deepEqual(
      unchecked.map(({ at, language }) => `${at}: ${language}`),
      [],
    )
    assert(checked(...CHECKED).length > 20)
  })

  test('shell samples are valid', () => {
    const invalid = checked('sh').flatMap(({ at, text }) => {
      const { status, stderr } = spawnSync('bash', ['-n'], { input: text, encoding: 'utf8' })
      return status === 0 ? [] : [`${at}: ${stderr}`]
    })
    assert.deepEqual(invalid, [])
  })

  test('JSON samples parse', () => {
    for (const { at, text } of checked('json')) assert.doesNotThrow(() => JSON.parse(text), at)
  })

  test('JavaScript samples are valid', () => {
    for (const { at, text } of checked('js')) {
      const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '--check'], {
        input: text,
        encoding: 'utf8',
      })
      assert.equal(status, 0, `${at}: ${stderr}`)
    }
  })

  test('TypeScript samples compile against the SDK', () => {
    rmSync(FOLDER, { recursive: true, force: true })
    mkdirSync(FOLDER, { recursive: true })
    for (const { at, text } of checked('ts')) {
      writeFileSync(join(FOLDER, `${at.replace(/\W/g, '-')}.ts`), `${text}\nexport {}\n`)
    }
    writeFileSync(join(FOLDER, 'given.d.ts'), GIVEN)
    const compilerOptions = {
      noEmit: true,
      rootDir: '../..',
      noUnusedLocals: false,
      composite: false,
      incremental: false,
    }
    const config = { extends: '../../tsconfig.base.json', compilerOptions, include: ['*.ts'] }
    writeFileSync(join(FOLDER, 'tsconfig.json'), JSON.stringify(config))

    const { status, stdout } = spawnSync('node_modules/.bin/tsc', ['-p', FOLDER], { encoding: 'utf8' })

    assert.equal(status, 0, stdout)
  })

  test('the commands and options of reeve that samples use exist', () => {
    const lines = checked('sh').flatMap(({ at, text }) =>
      text
        .replaceAll('\\\n', ' ')
        .split('\n')
        .filter((line) => /^(?:npx )?reeve /.test(line))
        .map((line) => ({
          at,
          words: line
            .replace(/ #.*$/, '')
            .split(/\s+/)
            .slice(line.startsWith('npx') ? 2 : 1),
        })),
    )
    const help = new Map<string, string>()
    const unknown = lines.flatMap(({ at, words }) => {
      const command = words.slice(0, words.findIndex((word) => !/^[a-z-]+$/.test(word) || word.startsWith('-')) >>> 0)
      const key = command.slice(0, 2).join(' ')
      const shown = help.get(key) ?? helpOf(command.slice(0, 2))
      help.set(key, shown)
      const options = words.filter((word) => /^--[a-z]/.test(word)).map((word) => word.replace(/=.*/, ''))
      return options.filter((option) => !shown.includes(option)).map((option) => `${at}: reeve ${key} ${option}`)
    })
    assert(lines.length > 5)
    assert.deepEqual(unknown, [])
  })
})

function helpOf(command: readonly string[]): string {
  const { stdout, stderr } = spawnSync(process.execPath, [...REEVE, ...command, '--help'], { encoding: 'utf8' })
  assert.match(stdout, /^Usage: reeve /m, `reeve ${command.join(' ')}: ${stderr}`)
  return stdout
}
