// Compiled validators of problems. They come from the program cache like submissions; if one does not compile, its problem
// cannot be judged.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { languageOfFile } from '../languages/language.ts'
import type { Toolchain } from '../languages/toolchain.ts'
import type { Validator } from '../package/package.ts'
import type { LoadedProblem } from '../work/test-run.ts'
import { compile, type CompileDeps, type Program, type Source } from './compile.ts'
import { JudgeFailure, type RunScope } from '../work/box-run.ts'
import type { Slot } from '../work/slot.ts'

const FINAL = { final: true }
const OUTPUT_CHARS_MAX = 1000

export interface Validators {
  /** Null: the problem has none. */
  get(problem: LoadedProblem, scope: RunScope, slot: Slot): Promise<Program | null>
}

export function openValidators(deps: CompileDeps, toolchains: ReadonlyMap<string, Toolchain>): Validators {
  return {
    async get(problem, scope, slot) {
      const { validator, limits } = problem.package
      if (validator === null) return null
      const source = await sourceOf(validator, toolchains)
      const compiled = await compile(deps, scope, slot.main, source, limits)
      if (!compiled.ok) {
        const detail = compiled.output.slice(0, OUTPUT_CHARS_MAX)
        throw new JudgeFailure('The output validator does not compile.', { final: true, detail })
      }
      return compiled.program
    },
  }
}

async function sourceOf({ folder, files }: Validator, toolchains: ReadonlyMap<string, Toolchain>): Promise<Source> {
  const languages = [...toolchains.values()].map(({ language }) => language)
  const named = files.find((file) => languageOfFile(languages, file) !== undefined)
  const language = named === undefined ? undefined : languageOfFile(languages, named)
  const toolchain = language === undefined ? undefined : toolchains.get(language.id)
  if (named === undefined || toolchain === undefined)
    throw new JudgeFailure(`The output validator is in no language that runs here: ${files.join(', ')}.`, FINAL)
  return {
    toolchain,
    entry: named,
    files: await Promise.all(files.map(async (name) => ({ name, bytes: await readFile(join(folder, name)) }))),
  }
}
