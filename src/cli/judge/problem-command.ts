// `reeve problem`: import packages, list problems, and judge a package's own submissions.
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { Problem } from '@reeve/sdk'
import type { Command } from 'commander'
import { isProblemId } from '../../doors/judge/problems/import-problem.ts'
import type { FlatLimits } from '../../doors/judge/package/flat-archive.ts'
import { PackageError } from '../../doors/judge/package/package.ts'
import { zipFolder } from '../../doors/judge/package/zip-folder.ts'
import { positiveNumber } from '../arguments.ts'
import { addRemoteOptions, withClient, type RemoteOptions } from '../access/client.ts'
import { CommandFailed } from '../failure.ts'
import { verifyProblem } from './problem-verify.ts'
import { plain, print, printJson, printTable, say } from '../terminal.ts'

const PAGE = 500

export function addProblemCommands(program: Command): void {
  const problem = program.command('problem').description('problem packages: import, list, verify')

  addRemoteOptions(problem.command('import'))
    .description('import packages (needs an admin)')
    .argument('<path...>', 'folders or zip files')
    .option('--id <id>', 'its id; default: the name of the folder or file')
    .option('--time-limit <seconds>', 'for an archive of tests without problem.yaml', positiveNumber)
    .option('--memory-limit <mb>', 'for an archive of tests without problem.yaml', positiveNumber)
    .action(importProblems)

  addRemoteOptions(problem.command('list')).description('all problems').action(listProblems)

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
  options: RemoteOptions & { id?: string; timeLimit?: number; memoryLimit?: number; json?: boolean },
): Promise<void> {
  const limits = { timeSec: options.timeLimit, memoryMb: options.memoryLimit }
  if (options.id !== undefined && paths.length > 1) throw new CommandFailed('--id names one package.', 2)
  const imported: object[] = []
  for (const path of paths) {
    const problemId = options.id ?? basename(path).replace(/\.zip$/i, '')
    if (!isProblemId(problemId))
      throw new CommandFailed(`${plain(problemId)} cannot be the id of a problem: use --id.`, 2)
    const one = await withZip(path, (zip) => putProblem(zip, problemId, limits, options))
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

const putProblem = (
  zip: string,
  problemId: string,
  limits: FlatLimits,
  options: RemoteOptions,
): Promise<ImportedLine> =>
  withClient(options, (reeve) =>
    reeve.judge.putProblem(problemId, new Uint8Array(readFileSync(zip)), {
      timeLimit: limits.timeSec,
      memoryLimit: limits.memoryMb,
    }),
  )

async function listProblems(options: RemoteOptions): Promise<void> {
  const problems = await withClient(options, async ({ judge }) => {
    const all: Problem[] = []
    let after: string | null = null
    do {
      const page: { problems: Problem[]; next_after: string | null } = await judge.problems({
        limit: PAGE,
        ...(after === null ? {} : { after }),
      })
      all.push(...page.problems)
      after = page.next_after
    } while (after !== null)
    return all
  })
  if (options.json === true) return printJson(problems)
  if (problems.length === 0) return say('No problems.')
  printTable(
    ['PROBLEM', 'TITLE', 'TYPE', 'TIME', 'MEMORY', 'TESTS'],
    problems.map((one) => [
      one.problem_id,
      plain(one.title),
      one.interactive ? `${one.type}, interactive` : one.type,
      `${one.time_limit_ms} ms`,
      `${one.memory_mb} MB`,
      String(one.tests),
    ]),
  )
}
