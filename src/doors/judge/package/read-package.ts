// From a folder to a package: everything that judging needs is read and checked here, once.
import { join } from 'node:path'
import { listFolder, readSmallText } from './files.ts'
import { iniValue, readLimits, readPasses } from './limits.ts'
import { PackageError, type ProblemPackage, type Validator } from './package.ts'
import { readStatement, titleInStatement } from './statement.ts'
import { readTests } from './test-tree.ts'
import { parseFlags } from '../compare/flags.ts'
import { readValidator } from './validator.ts'
import { isObject } from '../../../core/values/is-object.ts'
import { FieldReader, parseYaml } from './yaml-fields.ts'

const TITLE_CHARS_MAX = 200
const VALIDATION_WORDS = ['default', 'custom', 'interactive', 'score', 'multi-pass', 'testlib']
const TYPE_WORDS = ['pass-fail', 'scoring', 'interactive', 'multi-pass']

export interface ReadOptions {
  /** A package without data/secret is refused. `verify` looks at packages of other judges, which may have none. */
  needsSecret?: boolean
}

export async function readPackage(folder: string, { needsSecret = true }: ReadOptions = {}): Promise<ProblemPackage> {
  const text = await readSmallText(join(folder, 'problem.yaml'))
  if (text === null) throw new PackageError('problem.yaml is missing.')
  const fields = parseYaml('problem.yaml', text)
  const yaml = new FieldReader('problem.yaml', fields)
  const ini = await readSmallText(join(folder, 'domjudge-problem.ini'))
  const limits = readLimits(yaml, { timelimit: await readSmallText(join(folder, '.timelimit')), ini })
  const statement = await readStatement(folder)
  const kind = kindOf(yaml)
  const validator = kind.isCustom ? await readValidator(folder, kind.scores) : null
  if (validator === null && kind.needsValidator)
    throw new PackageError('problem.yaml asks for a validator, and output_validators holds none.')

  const missing = await missingData(folder, needsSecret)
  if (missing !== null) throw new PackageError(missing)
  const validatorFlags = yaml.words('validator_flags') ?? []
  const { root, tests } = await readTests({ folder, isScoring: kind.isScoring, validatorFlags })
  if (!tests.some((test) => !test.isSample || !needsSecret)) throw new PackageError('data/secret holds no test.')
  if (validator === null) for (const test of tests) parseFlags(test.validatorFlags)

  return {
    folder,
    title: titleOf(fields) ?? (ini === null ? null : iniValue(ini, 'name')) ?? titleInStatement(statement),
    isScoring: kind.isScoring,
    isInteractive: kind.isInteractive,
    passesMax: kind.isMultiPass ? readPasses(yaml) : 1,
    limits,
    languages: languagesOf(yaml),
    validator,
    statement,
    root,
    tests,
  }
}

/** Older packages say it in `validation`, newer ones in `type` and by having a validator. */
function kindOf(yaml: FieldReader) {
  const validation = yaml.words('validation') ?? []
  const type = yaml.words('type') ?? []
  refuseUnknown('validation', validation, VALIDATION_WORDS)
  refuseUnknown('type', type, TYPE_WORDS)
  const isLegacy = !yaml.has('problem_format_version') || yaml.text('problem_format_version') === 'legacy'
  const isScoring = type.includes('scoring')
  const isInteractive = validation.includes('interactive') || type.includes('interactive')
  const isMultiPass = validation.includes('multi-pass') || type.includes('multi-pass')
  const scores: Validator['scores'] = validation.includes('score') ? 'must' : !isLegacy && isScoring ? 'may' : 'no'
  const needsValidator = validation.includes('custom') || isInteractive || isMultiPass
  return {
    isScoring,
    isInteractive,
    isMultiPass,
    scores,
    needsValidator,
    isCustom: needsValidator || (!isLegacy && !validation.includes('default')),
  }
}

function refuseUnknown(field: string, words: readonly string[], known: readonly string[]): void {
  const unknown = words.find((word) => !known.includes(word))
  if (unknown !== undefined) throw new PackageError(`problem.yaml: ${field} ${unknown} is not supported.`)
}

async function missingData(folder: string, needsSecret: boolean): Promise<string | null> {
  const groups = (await listFolder(join(folder, 'data')))?.folders ?? []
  if (groups.includes('secret')) return null
  if (needsSecret) return 'data/secret is missing.'
  return groups.includes('sample') ? null : 'data/secret and data/sample are missing.'
}

/** A text, or a text for each language. */
function titleOf({ name }: Readonly<Record<string, unknown>>): string | null {
  const title = isObject(name) ? (name['en'] ?? Object.values(name)[0]) : name
  if (typeof title !== 'string' && typeof title !== 'number') return null
  const text = String(title).trim().slice(0, TITLE_CHARS_MAX)
  return text === '' ? null : text
}

function languagesOf(yaml: FieldReader): readonly string[] | null {
  const languages = yaml.words('languages')
  return languages === null || languages.includes('all') ? null : languages
}
