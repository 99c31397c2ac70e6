// The submissions that a package brings: a file each, or a folder for those of several files.
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { languageOfFile, type Language } from '../languages/language.ts'
import { listFolder, readSmallText } from '../package/files.ts'
import type { SourceFile } from '../programs/compile.ts'
import { publicClassOf } from '../programs/main-class.ts'
import { labelOf, type Label } from './labels.ts'
import { readSubmissionRules, type SubmissionRule } from './submission-rules.ts'

export interface LabelledSubmission {
  /** Below submissions/. */
  name: string
  folder: string
  label: Label | null
  /** Of submissions.yaml. */
  rules: readonly SubmissionRule[]
  /** Null: in no language that is known here. */
  language: Language | null
  files: readonly SourceFile[]
  entry: string
}

const FILE_BYTES_MAX = 1024 * 1024
const PYTHON_2 = /^#!.*python2/

export async function findSubmissions(
  packageFolder: string,
  languages: ReadonlyMap<string, Language>,
): Promise<LabelledSubmission[]> {
  const root = join(packageFolder, 'submissions')
  const entries = await entryPoints(packageFolder)
  const rules = await readSubmissionRules(packageFolder)
  const found: LabelledSubmission[] = []
  for (const folder of (await listFolder(root))?.folders ?? []) {
    for (const name of (await readdir(join(root, folder))).filter((one) => !one.startsWith('.')).sort()) {
      const files = await sourcesAt(join(root, folder, name), name)
      if (files.length === 0) continue
      const path = `${folder}/${name}`
      const entry = entries.get(`submissions/${path}`) ?? rules.entryOf(path)
      const submission = submissionFrom(folder, name, files, languages, entry)
      const label = rules.replacesLabelOf(folder) ? null : submission.label
      found.push({ ...submission, label, rules: rules.of(path) })
    }
  }
  return found
}

async function sourcesAt(path: string, name: string): Promise<SourceFile[]> {
  const seen = await stat(path).catch(() => null) // a link that leads nowhere
  if (seen === null) return []
  if (seen.isFile()) return seen.size > FILE_BYTES_MAX ? [] : [{ name, bytes: await readFile(path) }]
  const files = (await listFolder(path))?.files ?? []
  return Promise.all(files.map(async (file) => ({ name: file, bytes: await readFile(join(path, file)) })))
}

function submissionFrom(
  folder: string,
  name: string,
  files: readonly SourceFile[],
  languages: ReadonlyMap<string, Language>,
  entry: string | undefined,
): Omit<LabelledSubmission, 'rules'> {
  const known = [...languages.values()]
  const first =
    files.find((file) => file.name === entry) ??
    files.find((file) => /^(__main__|main)\./i.test(file.name) && languageOfFile(known, file.name) !== undefined) ??
    files.find((file) => languageOfFile(known, file.name) !== undefined)
  const isForeign = first === undefined || PYTHON_2.test(first.bytes.toString('latin1', 0, 200))
  return {
    name: `${folder}/${name}`,
    folder,
    label: labelOf(
      folder,
      files.map((file) => file.bytes),
    ),
    language: isForeign ? null : (languageOfFile(known, first.name) ?? null),
    files: files.map((file) => ({ ...file, name: javaName(file) })),
    entry: first === undefined ? '' : javaName(first),
  }
}

/** Authors name a file as they like; the compiler requires the name of its public class. */
const javaName = ({ name, bytes }: SourceFile): string => {
  const required = name.endsWith('.java') ? publicClassOf(bytes) : null
  return required === null ? name : `${required}.java`
}

/** submissions.json of DOMjudge: which file of several is started. */
async function entryPoints(packageFolder: string): Promise<Map<string, string>> {
  const text = await readSmallText(join(packageFolder, 'submissions.json'))
  const points = new Map<string, string>()
  if (text === null) return points
  const parsed: unknown = JSON.parse(text)
  for (const [path, about] of Object.entries(typeof parsed === 'object' && parsed !== null ? parsed : {})) {
    const entry: unknown =
      typeof about === 'object' && about !== null && 'entry_point' in about ? about.entry_point : null
    if (typeof entry === 'string') points.set(path.replace(/\/$/, ''), entry)
  }
  return points
}
