// `reeve problem`: import packages, list problems, and judge a package's own submissions.
import { createReadStream, readFileSync } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { Command } from 'commander'
import { environment } from '../../core/config.ts'
import { openFiles } from '../../core/files/open-files.ts'
import { readSettings } from '../../core/settings.ts'
import { importingWith, notChecked } from '../../doors/judge/door.ts'
import { importStream, isProblemId, type Imported } from '../../doors/judge/problems/import-problem.ts'
import type { FlatLimits } from '../../doors/judge/package/flat-archive.ts'
import { PackageError } from '../../doors/judge/package/package.ts'
import { zipFolder } from '../../doors/judge/package/zip-folder.ts'
import { inspectPackage } from '../../doors/judge/problems/inspect-package.ts'
import { openProblemStore } from '../../doors/judge/problems/problem-store.ts'
import { JUDGE_SETTINGS } from '../../doors/judge/settings.ts'
import { positiveNumber } from '../arguments.ts'
import { addClientOptions, withClient, type ClientOptions } from '../client.ts'
import { CommandFailed } from '../failure.ts'
import { verifyProblem } from './problem-verify.ts'
import { plain, print, printJson, printTable, say } from '../terminal.ts'
import { withEngine } from '../with-engine.ts'

const PAGE = 500

export function addProblemCommands(program: Command): void {
  const problem = program.command('problem').description('problem packages: import, list, verify')

  addClientOptions(problem.command('import'))
    .description('import packages, into the database and the file store, or with --url through that server')
    .argument('<path...>', 'folders or zip files')
    .option('--id <id>', 'its id; default: the name of the folder or file')
    .option('--time-limit <seconds>', 'for an archive of tests without problem.yaml', positiveNumber)
    .option('--memory-limit <mb>', 'for an archive of tests without problem.yaml', positiveNumber)
    .option('--json', 'for programs')
    .action(importProblems)

  problem.command('list').description('all problems').option('--json', 'for programs').action(listProblems)

  problem
    .command('verify')
    .description('judge the labelled submissions of packages here; exit code 1: a verdict differs from its label')
    .argument('<path...>', 'folders or zip files')
    .option('--time-limit <seconds>', 'in place of the package’s own', positiveNumber)
    .option('--only <text>', 'only submissions whose path holds this')
    .option('--json', 'for programs')
    .action(verifyProblem)
}

async function importProblems(
  paths: readonly string[],
  options: ClientOptions & { id?: string; timeLimit?: number; memoryLimit?: number; json?: boolean },
): Promise<void> {
  const limits = { timeSec: options.timeLimit, memoryMb: options.memoryLimit }
  if (options.id !== undefined && paths.length > 1) throw new CommandFailed('--id names one package.', 2)
  const imported: object[] = []
  for (const path of paths) {
    const problemId = options.id ?? basename(path).replace(/\.zip$/i, '')
    if (!isProblemId(problemId))
      throw new CommandFailed(`${plain(problemId)} cannot be the id of a problem: use --id.`, 2)
    const one = await withZip(path, (zip) =>
      options.url === undefined ? importHere(zip, problemId, limits) : importThere(zip, problemId, limits, options),
    )
    imported.push(one)
    if (options.json !== true) print(`${one.problem_id}: ${plain(one.title)}, ${one.tests} tests`)
  }
  if (options.json === true) printJson(imported)
}

interface ImportedLine {
  problem_id: string
  title: string
  tests: number
}

/** A folder is packed first: what is imported is always a zip. */
async function withZip<T>(path: string, use: (zip: string) => Promise<T>): Promise<T> {
  const seen = await stat(path).catch(() => null)
  if (seen === null) throw new CommandFailed(`There is no ${plain(path)}.`)
  if (seen.isFile()) return explained(path, () => use(path))
  const folder = await mkdtemp(join(tmpdir(), 'reeve-package-'))
  try {
    const zip = join(folder, 'package.zip')
    return await explained(path, async () => {
      await zipFolder(path, zip)
      return use(zip)
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function explained<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof PackageError) throw new CommandFailed(`${plain(path)}: ${plain(error.message)}`)
    throw error
  }
}

function importHere(zip: string, problemId: string, limits: FlatLimits): Promise<ImportedLine> {
  return withEngine(async ({ config, database }) => {
    const settings = readSettings(JUDGE_SETTINGS, environment(), [])
    const { files } = openFiles(config)
    const problems = openProblemStore(database)
    const importing = importingWith({ config, files, problems, inspect: inspectPackage, check: notChecked }, settings)
    const imported: Imported = await importStream(importing, createReadStream(zip), {
      problemId,
      accountId: null,
      limits,
    })
    return { problem_id: problemId, title: imported.title, tests: imported.tests }
  })
}

const importThere = (
  zip: string,
  problemId: string,
  limits: FlatLimits,
  options: ClientOptions,
): Promise<ImportedLine> =>
  withClient(options, (reeve) =>
    reeve.judge.putProblem(problemId, new Uint8Array(readFileSync(zip)), {
      timeLimit: limits.timeSec,
      memoryLimit: limits.memoryMb,
    }),
  )

async function listProblems(options: { json?: boolean }): Promise<void> {
  const problems = await withEngine(async ({ database }) => {
    const store = openProblemStore(database)
    const all = []
    let page = await store.list({ after: '', limit: PAGE })
    while (page.length > 0) {
      all.push(...page)
      page = await store.list({ after: page.at(-1)?.problemId ?? '', limit: PAGE })
    }
    return all
  })
  if (options.json === true) {
    const lines = problems.map(({ problemId, title, tests, packageSha256, about }) => {
      const { type, interactive, time_limit_ms, memory_mb } = about
      return {
        problem_id: problemId,
        title,
        type,
        interactive,
        time_limit_ms,
        memory_mb,
        tests,
        package: packageSha256,
      }
    })
    return printJson(lines)
  }
  if (problems.length === 0) return say('No problems.')
  printTable(
    ['PROBLEM', 'TITLE', 'TYPE', 'TIME', 'MEMORY', 'TESTS'],
    problems.map(({ problemId, title, tests, about }) => [
      problemId,
      plain(title),
      about.interactive ? `${about.type}, interactive` : about.type,
      `${about.time_limit_ms} ms`,
      `${about.memory_mb} MB`,
      String(tests),
    ]),
  )
}
