// `reeve problem`: import packages, list problems, and judge a package's own submissions.
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import type { Command } from 'commander'
import { isProblemId } from '../../doors/judge/problems/import-problem.ts'
import type { FlatLimits } from '../../doors/judge/package/flat-archive.ts'
import { PackageError } from '../../doors/judge/package/package.ts'
import { zipFolder } from '../../doors/judge/package/zip-folder.ts'
import { positiveInteger, positiveNumber } from '../arguments.ts'
import { addRemoteOptions, withClient, type RemoteOptions } from '../access/client.ts'
import { everyRow } from '../access/every-row.ts'
import { CommandFailed } from '../failure.ts'
import { verifyProblem } from './problem-verify.ts'
import { counted, plain, print, printJson, printTable, say } from '../terminal.ts'

const PAGE = 500
const OF_JUDGE = { door: 'judge' } as const

export function addProblemCommands(program: Command): void {
  const problem = program.command('problem').description('import, list and verify problem packages')

  addRemoteOptions(problem.command('import'))
    .description('import problem packages (admins only)')
    .argument('<path...>', 'folders or zip files')
    .option('--id <id>', 'the id of the problem; default: the name of the folder or file')
    .option('--time-limit <seconds>', 'for tests without a problem.yaml', positiveNumber)
    .option('--memory-limit <mb>', 'for tests without a problem.yaml', positiveNumber)
    .action(importProblems)

  addRemoteOptions(problem.command('list')).description('list all problems').action(listProblems)

  problem
    .command('verify')
    .description(
      'judge the labelled submissions of packages on this machine; exit code 1 if a verdict differs from its label',
    )
    .argument('<path...>', 'packages as folders or zip files, or folders that contain packages')
    .option('--time-limit <seconds>', 'replaces the time limit of the package', positiveNumber)
    .option('--time-factor <factor>', 'multiplies the time limits of packages', positiveNumber)
    .option('--measure', 'measure the accepted submissions of packages without a time limit')
    .option('--parallel <count>', 'number of submissions judged at a time', positiveInteger)
    .option('--differences', 'print only verdicts that differ')
    .option('--only <text>', 'only submissions whose path contains this text')
    .option('--json', 'print JSON')
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
    if (options.json !== true) print(`${one.problem_id}: ${plain(one.title)}, ${counted(one.tests, 'test')}`)
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
  withClient(
    options,
    (reeve) =>
      reeve.judge.putProblem(problemId, new Uint8Array(readFileSync(zip)), {
        timeLimit: limits.timeSec,
        memoryLimit: limits.memoryMb,
      }),
    OF_JUDGE,
  )

async function listProblems(options: RemoteOptions): Promise<void> {
  const problems = await withClient(
    options,
    ({ judge }) =>
      everyRow(async (query: { after?: string }) => {
        const { problems, next_after: next } = await judge.problems({ limit: PAGE, ...query })
        return { rows: problems, next }
      }),
    OF_JUDGE,
  )
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
