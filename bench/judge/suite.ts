// The judge, in parts: what its sandbox costs beside other ways to run a program, and what its users get.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { cpus, release, tmpdir, totalmem, type } from 'node:os'
import { join } from 'node:path'
import type { Suite } from '../suite.ts'
import type { Teardown } from '../teardown.ts'
import { OPTIONS_HELP, parseOptions, type Options } from './options.ts'
import { measureSandbox } from './sandbox/measure-sandbox.ts'
import { measureSubmissions } from './submissions.ts'

export interface PartResult {
  /** What it finds, as tables. */
  text: string
  json: unknown
  /** Promises that do not hold, each as a sentence. */
  broken?: readonly string[]
}

export type Part = (options: Options, folder: string, teardown: Teardown) => Promise<PartResult>

const PARTS: Readonly<Record<Options['parts'][number], Part>> = {
  sandbox: measureSandbox,
  submissions: measureSubmissions,
}

export const judgeSuite: Suite = {
  name: 'judge',
  summary:
    'the sandbox against a bare spawn, bubblewrap and isolate: time per run, precision of limits; submissions per second',
  options: OPTIONS_HELP,

  async run(args, teardown) {
    const options = parseOptions(args)
    const folder = await mkdtemp(join(tmpdir(), 'reeve-bench-'))
    teardown.add(() => rm(folder, { recursive: true, force: true }))
    const results: Record<string, unknown> = {}
    const missed: string[] = []
    console.log(`\nMachine: ${machine()}.`)
    for (const part of options.parts) {
      const { text, json, broken = [] } = await PARTS[part](options, folder, teardown)
      console.log(`\n${text}\n`)
      results[part] = json
      missed.push(...broken)
    }
    if (options.jsonFile !== null)
      await writeFile(options.jsonFile, `${JSON.stringify({ machine: machine(), options, ...results }, null, 2)}\n`)
    if (options.checks && missed.length > 0) throw new Error(missed.join('\n'))
  },
}

const machine = () =>
  `${cpus()[0]?.model.trim() ?? 'unknown'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB, ${type()} ${release()}; ` +
  `Node ${process.versions.node}`
