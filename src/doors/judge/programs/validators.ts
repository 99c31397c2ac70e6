// Compiled validators of problems. They come from the program cache like submissions; if one does not compile, its problem
// cannot be judged.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { languageOfFile } from '../languages/language.ts'
import type { Toolchain } from '../languages/toolchain.ts'
import type { Validator } from '../package/package.ts'
import { BUILD, isScripted, RUN } from '../package/validator.ts'
import type { LoadedProblem } from '../work/test-run.ts'
import { compile, IN_BOX, type CompileDeps, type Program, type Source } from './compile.ts'
import { JudgeFailure, type RunScope } from '../work/box-run.ts'
import type { Slot } from '../work/slot.ts'

const OUTPUT_CHARS_MAX = 1000
/** Of a validator in several files, the first of these is started. */
const MAIN_FILES = [/^__main__\./, /^main\./i, /^(output_?)?valid/i]

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
  const { toolchain, entry } = isScripted(files)
    ? { toolchain: scriptsWith([...toolchains.values()], files.includes(BUILD)), entry: RUN }
    : startedOf(files, toolchains)
  return {
    toolchain,
    entry,
    files: await Promise.all(files.map(async (name) => ({ name, bytes: await readFile(join(folder, name)) }))),
  }
}

function startedOf(files: readonly string[], toolchains: ReadonlyMap<string, Toolchain>) {
  const languages = [...toolchains.values()].map(({ language }) => language)
  const sources = files.filter((file) => languageOfFile(languages, file) !== undefined)
  const entry = MAIN_FILES.map((name) => sources.find((file) => name.test(file))).find(Boolean) ?? sources[0]
  const language = entry === undefined ? undefined : languageOfFile(languages, entry)
  const toolchain = language === undefined ? undefined : toolchains.get(language.id)
  if (entry === undefined || toolchain === undefined)
    throw new JudgeFailure('The output validator is in no language that runs here.', {
      final: true,
      detail: files.join(', '),
    })
  return { toolchain, entry }
}

/** A validator may bring its own scripts: `build` makes the program in its folder, `run`, which it may make, starts it. */
function scriptsWith(toolchains: readonly Toolchain[], hasBuild: boolean): Toolchain {
  const run = [`{dir}/${RUN}`]
  return {
    language: { id: 'scripts', name: 'build and run', extensions: ['.sh'], source: RUN, version: [BUILD], run },
    version: toolchains.map(({ version }) => version).join('\n'),
    compile: hasBuild ? [`${IN_BOX}/${BUILD}`] : null,
    run,
    header: null,
    // Debian's `cc` and `java` are links that lead through this folder.
    paths: [...new Set(['/etc/alternatives', ...toolchains.flatMap(({ paths }) => paths)])].filter((path) =>
      existsSync(path),
    ),
  }
}
