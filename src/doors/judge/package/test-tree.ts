// data/: a tree of groups and tests. A group's testdata.yaml also applies to the groups below it, unless they override it.
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { readSmallText } from './files.ts'
import { PackageError, type Grading, type Test, type TestGroup } from './package.ts'
import { FieldReader, parseYaml, type YamlFields } from './yaml-fields.ts'

const DEPTH_MAX = 8
const TESTS_MAX = 10_000
const SCORE_MAX = 1e12
const VERDICT_FLAGS = ['worst_error', 'first_error', 'always_accept'] as const
const SCORE_FLAGS = ['sum', 'avg', 'min', 'max'] as const
/** The second is its name since version 2025-09 of the format. */
const CONFIG_FILES = ['testdata.yaml', 'test_group.yaml']

export interface TreeOptions {
  folder: string
  isScoring: boolean
  /** Of problem.yaml, for groups that say nothing. */
  validatorFlags: readonly string[]
}

/** The whole of data/. Only `sample` and `secret` are judged; other folders belong to other tools. */
export async function readTests(options: TreeOptions): Promise<{ root: TestGroup; tests: Test[] }> {
  const tests: Test[] = []
  const root = await readGroup(options, '', {}, tests)
  return { root, tests }
}

async function readGroup(options: TreeOptions, name: string, above: YamlFields, tests: Test[]): Promise<TestGroup> {
  if (name.split('/').length > DEPTH_MAX) throw new PackageError(`data/${name} is nested too deeply.`)
  const folder = join(options.folder, 'data', name)
  const fields = { ...above, ...(await readConfig(folder, name)) }
  const reader = new FieldReader(`data/${name === '' ? '' : `${name}/`}testdata.yaml`, fields)
  const group = groupFrom(reader, name, options.isScoring)
  const flags =
    reader.words('output_validator_flags') ?? reader.words('output_validator_args') ?? options.validatorFlags

  const entries = await readdir(folder, { withFileTypes: true })
  const files = new Set(entries.filter((entry) => entry.isFile()).map((entry) => entry.name))
  const children: (TestGroup | Test)[] = []
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = name === '' ? entry.name : `${name}/${entry.name}`
    if (entry.isDirectory() && (name !== '' || entry.name === 'sample' || entry.name === 'secret')) {
      children.push(await readGroup(options, path, fields, tests))
    } else if (name !== '' && entry.isFile() && entry.name.endsWith('.in')) {
      const test = testFrom(options.folder, path.slice(0, -'.in'.length), flags, files)
      children.push(test)
      tests.push(test)
    }
  }
  if (tests.length > TESTS_MAX) throw new PackageError(`There are more than ${TESTS_MAX} tests.`)
  return { ...group, children }
}

async function readConfig(folder: string, name: string): Promise<YamlFields> {
  for (const file of CONFIG_FILES) {
    const text = await readSmallText(join(folder, file))
    if (text !== null) return parseYaml(`data/${name}/${file}`, text)
  }
  return {}
}

function testFrom(folder: string, name: string, validatorFlags: readonly string[], files: ReadonlySet<string>): Test {
  const base = name.slice(name.lastIndexOf('/') + 1)
  if (!files.has(`${base}.ans`)) throw new PackageError(`data/${name}.in has no ${base}.ans.`)
  const path = join(folder, 'data', name)
  return {
    kind: 'test',
    name,
    isSample: name.startsWith('sample/'),
    inputPath: `${path}.in`,
    answerPath: `${path}.ans`,
    validatorFlags,
  }
}

function groupFrom(reader: FieldReader, name: string, isScoring: boolean): Omit<TestGroup, 'children'> {
  if (reader.text('grading') === 'custom') throw new PackageError(`data/${name}: custom graders are not supported.`)
  const score = (field: string, or: number) => reader.number(field, { min: -SCORE_MAX, max: SCORE_MAX }) ?? or
  return {
    kind: 'group',
    name,
    onReject: reader.oneOf('on_reject', ['break', 'continue']) ?? 'break',
    acceptScore: isScoring ? score('accept_score', 1) : 0,
    rejectScore: isScoring ? score('reject_score', 0) : 0,
    range: rangeFrom(reader, name),
    grading: gradingFrom(reader.words('grader_flags') ?? [], name),
  }
}

function rangeFrom(reader: FieldReader, name: string): [number, number] {
  const words = reader.words('range')
  if (words === null) return [-Infinity, Infinity]
  const [min, max] = words.map((word) => Number(word.replace(/inf(inity)?$/i, 'Infinity')))
  if (words.length === 2 && min !== undefined && max !== undefined && min <= max) return [min, max]
  throw new PackageError(`data/${name}: range must be two numbers, the smaller one first.`)
}

function gradingFrom(flags: readonly string[], name: string): Grading {
  const last = <const T extends string>(known: readonly T[], or: T): T =>
    flags.flatMap((flag) => known.filter((one) => one === flag)).at(-1) ?? or
  const known = [...VERDICT_FLAGS, ...SCORE_FLAGS, 'no_errors', 'ignore_sample', 'accept_if_any_accepted']
  const unknown = flags.find((flag) => !known.includes(flag))
  if (unknown !== undefined) throw new PackageError(`data/${name}: the grader flag ${unknown} is not known.`)
  return {
    verdict: last(VERDICT_FLAGS, 'worst_error'),
    score: last(SCORE_FLAGS, 'sum'),
    ignoreSample: flags.includes('ignore_sample') && name === '',
    acceptIfAnyAccepted: flags.includes('accept_if_any_accepted'),
  }
}
